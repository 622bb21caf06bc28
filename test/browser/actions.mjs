import {readFileSync, writeFileSync} from 'node:fs';

// The first line of the file that a link gives.
async function firstLine(page, link) {
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()]);
  return readFileSync(await download.path(), 'utf8').split(/\r?\n/)[0];
}

// Everything that a person can do on the pages, each done once, in this order, after all pages were looked at. `sees` waits for
// words on the page; `say` reports what is wrong.
export const actions = [
  {name: 'find a person', do: async (page, {sees}) => {
    await page.goto('/');
    await page.getByRole('link', {name: 'People'}).click();
    await page.getByRole('searchbox', {name: 'Phone, name, e-mail, order or cart'}).fill('07700 900102');
    await page.keyboard.press('Enter');
    await sees('cart.total >= 50');
    await sees('shop.cart.abandoned');
  }},
  {name: 'filter messages', do: async (page, {sees, say}) => {
    await page.goto('/messages');
    await page.getByLabel('State').selectOption('cancelled');
    await page.getByRole('button', {name: 'Show', exact: true}).click();
    await sees('cart_reminder');
    if (!page.url().includes('state=cancelled')) say(`the filter is not in the address: ${page.url()}`);
  }},
  {name: 'messages that failed for one reason', scripts: false, do: async (page, {sees, say}) => {
    await page.goto('/messages?state=failed');
    await page.getByRole('link', {name: 'recipient is not on the network'}).click();
    if (!page.url().includes('words=recipient')) say(`the reason is not in the address: ${page.url()}`);
    if (await page.getByLabel('Why', {exact: true}).inputValue() !== 'recipient is not on the network') say('the reason is no filter');
    await page.goBack();
    await page.getByRole('button', {name: 'Send these again…'}).first().click();
    await sees('That ended so: Recipient is not on the network.');
    await page.getByRole('link', {name: /Leave it as it is|Back/}).click();
  }},
  {name: 'forecast', do: async (page, {sees}) => {
    await page.goto('/jobs/spring-news');
    await page.getByRole('button', {name: 'Forecast'}).click();
    await sees('the phone was shortened by a spreadsheet');
  }},
  {name: 'play what was stored', do: async (page, {sees, say}) => {
    await page.goto('/config');
    await page.getByRole('link', {name: 'Play stored events by an earlier config'}).click();
    await page.getByLabel('Compare the config in use with').selectOption('sent');
    await page.getByRole('button', {name: 'Play', exact: true}).click();
    await sees('By Trigger');
    await sees('By Job');
    // It is over before anybody could press Stop: who comes too late is told so.
    const told = await page.evaluate(async () => (await fetch('/do/stop-simulation', {method: 'POST', body: new URLSearchParams({back: '/simulation'})})).text());
    if (!told.includes('no simulation is running')) say('a stop that comes too late is not told');
  }},
  {name: 'try an edited rule', do: async (page, {sees, say, told}) => {
    await page.goto(`/playground?event=${told.event.skipped}&trigger=abandoned-cart`);
    const rules = page.getByRole('textbox', {name: 'YAML'});
    const before = await rules.inputValue();
    await rules.fill(before.replace('>= 50', '>= 5'));
    await page.getByRole('button', {name: 'Try', exact: true}).click();
    await sees('1 of the answers below would be another');
    await sees('cart.total >= 5');
    if (await rules.inputValue() !== before.replace('>= 50', '>= 5')) say('the edited rules are gone');
    await rules.fill(before.replace('cart.total', 'cart.totl'));
    await page.getByRole('button', {name: 'Try', exact: true}).click();
    await sees('did you mean "total"?');
    await rules.fill('');
    await rules.press('Tab');
    await rules.pressSequentially('x');
    if (await rules.inputValue() !== '  x') say('Tab does not indent');
  }},
  {name: 'complete a rule by the keyboard', do: async (page, {sees, say, told}) => {
    await page.goto('/playground?trigger=abandoned-cart');
    const rules = page.getByRole('textbox', {name: 'YAML'}), list = page.getByRole('listbox', {name: 'What may stand here'}), offered = list.getByRole('option');
    const words = page.waitForResponse(/\/static\/rules-.*\.json$/);
    await rules.fill('triggers:\n  mine:\n    ');
    await (await words).finished();
    await rules.focus();
    await page.keyboard.press('Control+End');
    await page.keyboard.type('can');
    await offered.getByText('cancel_on').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.type('shop.order.cr');
    await offered.getByText('shop.order.created').waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.type('\n    category: ');
    await page.keyboard.press('Control+Space');
    await list.waitFor();
    await page.keyboard.press('ArrowDown');
    if (await list.getByRole('option', {selected: true}).innerText() !== 'utility') say('the arrows do not choose');
    await page.keyboard.press('Escape');
    if (await offered.count()) say('Esc leaves the offer open');
    await page.keyboard.press('Control+Space');
    await offered.first().click();
    const text = await rules.inputValue();
    if (!text.includes('cancel_on: shop.order.created') || !text.endsWith('category: marketing')) say(`the rule is ${JSON.stringify(text)}`);
    await rules.fill('triggers:\n  abandoned-cart:\n    waitt: 1h\n');
    await page.getByRole('button', {name: 'Try', exact: true}).click();
    await sees('The edited rules cannot be used yet');
    await page.locator('.y-wrong').getByText('waitt').waitFor(); // at its line, where it is written
    await rules.fill('triggers:\n  abandoned-cart:\n    wait: 1h\n');
    if (await page.locator('.y-wrong').count()) say('what was mended is still marked');
    await page.keyboard.type('    se');
    await offered.first().waitFor(); // and axe looks at it so
    if (told.screenshots) {
      await page.screenshot({path: `${told.screenshots}/completion.png`});
      await page.setViewportSize({width: 390, height: 844});
      await rules.press('End');
      await page.keyboard.press('Control+Space');
      await page.screenshot({path: `${told.screenshots}/completion-phone.png`});
    }
  }},
  {name: 'try an edited rule without scripts', scripts: false, do: async (page, {sees, told}) => {
    await page.goto(`/playground?event=${told.event.skipped}`);
    await page.getByRole('combobox', {name: 'Rule'}).selectOption('abandoned-cart');
    await page.getByRole('button', {name: 'Load the rule'}).click();
    await page.getByRole('textbox', {name: 'YAML'}).fill((await page.getByRole('textbox', {name: 'YAML'}).inputValue()).replace('>= 50', '>= 5'));
    await page.getByRole('button', {name: 'Try', exact: true}).click();
    await sees('1 of the answers below would be another');
  }},
  {name: 'play an edited rule over the last events', do: async (page, {sees}) => {
    await page.goto('/playground?trigger=abandoned-cart');
    const rules = page.getByRole('textbox', {name: 'YAML'});
    await page.getByRole('button', {name: 'Compare over the last 100 events'}).click();
    await sees('The same messages to the same people, since');
    await rules.fill((await rules.inputValue()).replace('>= 50', '>= 5'));
    await page.getByRole('button', {name: 'Compare over the last 100 events'}).click();
    await sees('message more, since');
    await sees('+447700900102');
    await rules.fill('triggers: [');
    await page.getByRole('button', {name: 'Compare over the last 100 events'}).click();
    await sees('cannot be used');
  }},
  {name: 'play an edited rule over the last events without scripts', scripts: false, do: async (page, {sees}) => {
    await page.goto('/playground?trigger=abandoned-cart');
    await page.getByRole('button', {name: 'Compare over the last 100 events'}).click();
    await sees('Over the last events');
    await page.goto('/playground/past');
    for (const again = page.getByRole('link', {name: 'Look again'}); await again.count() > 0;) await again.click();
    await sees('The same messages to the same people, since');
  }},
  {name: 'send a test of what was tried', do: async (page, {sees, told}) => {
    await page.goto(`/playground?event=${told.event.waiting}`);
    await page.getByRole('button', {name: 'Send a test of it…'}).first().click();
    await sees(`It is filled in with event ${told.event.waiting}, as it is stored.`);
    await page.getByLabel('me', {exact: true}).check();
    await page.getByRole('button', {name: 'Send the test'}).click();
    await sees('A test goes to me as this message');
  }},
  {name: 'halt a trigger, and let it go on', scripts: false, do: async (page, {sees}) => {
    await page.goto('/triggers/abandoned-cart');
    await page.getByRole('button', {name: 'Halt this trigger'}).click();
    await sees('Within a second nothing of it is sent');
    await page.getByLabel('Why').fill('wrong price');
    await page.getByRole('button', {name: /^Halt trigger/}).click();
    await sees('is halted.');
    await sees('wrong price');
    await page.getByRole('button', {name: 'Let it go on'}).click();
    await page.getByRole('button', {name: 'Let it go on'}).click();
    await sees('goes on.');
  }},
  {name: 'what is halted is let go on from any page', do: async (page, {sees}) => {
    await page.goto('/people');
    await sees('is halted');
    await page.getByRole('button', {name: 'Let trigger "vip" go on…'}).click();
    await page.getByRole('button', {name: 'Let it go on'}).waitFor();
    await page.goto('/triggers/vip'); // that says so itself
    if (await page.getByRole('button', {name: 'Let trigger "vip" go on…'}).count() !== 0) throw new Error('it is said twice');
  }},
  {name: 'send a test', do: async (page, {sees, told}) => {
    await page.goto('/triggers/abandoned-cart');
    await page.getByRole('button', {name: 'Send a test…'}).click();
    await sees('Blocks and halts hold.');
    await page.getByLabel('me', {exact: true}).check();
    await page.getByLabel('Number of a stored event').fill(`${told.event.skipped}`);
    await page.getByRole('button', {name: 'Send the test'}).click();
    await sees('A test goes to me as this message');
    await sees('For the real contact it would be skipped');
    await sees('A test of abandoned-cart to the number me.');
    await page.goto('/messages?phone=%2B447700900199');
    await sees('a test to me');
  }},
  {name: 'resolve a message in doubt', do: async (page, {sees, told}) => {
    await page.goto(`/messages/${told.message.doubt}`);
    await page.getByRole('button', {name: 'Say what became of it'}).click();
    await page.getByLabel('let it be').check();
    await page.getByLabel('How you know').fill('looked at their list');
    await page.getByRole('button', {name: 'Resolve it'}).click();
    await sees('was resolved, and is dropped now.');
  }},
  {name: 'block a person, and end it', do: async (page, {sees}) => {
    await page.goto('/people?phone=%2B447700900102');
    await page.getByRole('button', {name: 'Block…'}).click();
    await page.getByRole('button', {name: 'Block this phone'}).dblclick();
    await sees('This phone is blocked.');
    await page.getByRole('button', {name: 'End the block…'}).click();
    await page.getByRole('button', {name: 'End the block'}).click();
    await sees('not blocked any more');
  }},
  {name: 'cancel a run that waits', do: async (page, {sees, told}) => {
    await page.goto(`/runs/${told.run.approve}`);
    await page.getByRole('button', {name: 'Cancel…'}).click();
    await page.getByRole('button', {name: 'Cancel the run'}).click();
    await sees('was cancelled.');
  }},
  {name: 'go by keys, and find', do: async (page, {sees, told, say}) => {
    await page.goto('/');
    await page.keyboard.press('?');
    await page.getByRole('dialog', {name: 'Keys'}).waitFor();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('m');
    await page.getByRole('heading', {name: 'Messages', level: 1}).waitFor();
    await page.waitForLoadState();
    await page.keyboard.press('/');
    await page.keyboard.type(`event ${told.event.skipped}`); // g and e are typed, and go nowhere
    await page.keyboard.press('Enter');
    await sees('cart.total >= 50');
    if (!page.url().endsWith(`/events/${told.event.skipped}`)) say(`finding leads to ${page.url()}`);
    for (const [typed, found] of [['Ada', '/people?find=Ada'], [`${told.run.doubt}`, `Run ${told.run.doubt}`], ['c-skipped', '/people?find=c-skipped']]) {
      await page.getByRole('searchbox', {name: 'Find a person'}).fill(typed);
      await page.keyboard.press('Enter');
      if (found.startsWith('/')) await page.waitForURL(url => url.href.endsWith(found));
      else await sees(found);
    }
  }},
  {name: 'verify the audit', do: async (page, {sees}) => {
    await page.goto('/audit');
    await page.getByRole('button', {name: 'Verify'}).click();
    await sees('are as they were written');
  }},
  {name: 'replay an event', do: async (page, {sees, told}) => {
    await page.goto(`/events/${told.event.skipped}`);
    await page.getByRole('button', {name: 'Replay…'}).click();
    await sees('so nobody gets one twice');
    await page.getByRole('button', {name: 'Decide again'}).click();
    await sees('was decided about again, as this event');
  }},
  {name: 'rule users', do: async (page, {sees}) => {
    await page.goto('/system');
    await page.getByRole('link', {name: 'Users'}).click();
    await page.getByLabel('Name', {exact: true}).fill('cid');
    await page.getByRole('button', {name: 'Add, and make a link'}).click();
    await sees('A link for cid');
    await page.getByRole('button', {name: 'Disable cid'}).click();
    await sees('signed out everywhere');
    await page.getByLabel('Role of cid', {exact: true}).selectOption('operator');
    await page.getByRole('button', {name: 'Set the role of cid'}).click();
    await sees('The role is changed.');
    await page.getByRole('button', {name: 'Remove cid'}).click();
    await sees('The user is removed');
  }},
  {name: 'approve a run', do: async (page, {sees, told}) => {
    await page.goto(`/runs/${told.run.later}`);
    await page.getByRole('button', {name: 'Approve'}).first().click();
    await page.getByRole('button', {name: 'Send to 2 phones'}).click();
    await sees('was approved, and goes out now');
  }},
  {name: 'cancel a message', do: async (page, {sees, told}) => {
    await page.goto(`/messages/${told.message['to-cancel']}`);
    await page.getByRole('button', {name: 'Cancel…'}).click();
    await sees('would be sent to nobody');
    await page.getByLabel('Why').fill('bought in the shop');
    await page.getByRole('button', {name: 'Cancel the message'}).click();
    await sees(`Message ${told.message['to-cancel']} was cancelled.`);
    await sees('bought in the shop');
  }},
  {name: 'cancel all messages that match', do: async (page, {sees}) => {
    await page.goto('/messages?phone=%2B447700900121&template=cart_reminder');
    await page.getByRole('button', {name: 'Cancel all that wait…'}).click();
    await page.getByRole('heading', {name: 'Cancel 1 message?'}).waitFor();
    await page.goto('/messages?phone=%2B447700900121');
    await page.getByRole('button', {name: 'Cancel all that wait…'}).click();
    await sees('To the phone +447700900121.');
    await page.getByRole('button', {name: 'Cancel 2 messages'}).click();
    await sees('2 messages were cancelled.');
    await page.goto('/messages?phone=%2B447700900121&state=waiting');
    await sees('No message is like that.');
  }},
  {name: 'send a message again', do: async (page, {sees, told}) => {
    await page.goto(`/messages/${told.message['to-retry']}`);
    await page.getByRole('button', {name: 'Send again…'}).click();
    await sees('queued once more as a message of its own');
    await page.getByRole('button', {name: 'Send 1 message'}).click();
    await sees('1 message was queued again.');
    await page.goto('/messages?phone=%2B447700920000');
    await page.locator('tbody tr').nth(1).waitFor();
  }},
  {name: 'send all messages again that match', scripts: false, do: async (page, {sees}) => {
    await page.goto('/messages?phone=%2B447700930000&state=failed&class=permanent');
    await page.getByRole('button', {name: 'Send again what did not arrive…'}).click();
    await sees('With an error of the class permanent.');
    await sees('recipient is not on the network');
    await page.getByRole('button', {name: 'Send 2 messages'}).click();
    await sees('2 messages were queued again.');
    await page.goto('/messages?phone=%2B447700930000');
    await page.locator('tbody tr').nth(3).waitFor();
  }},
  {name: 'send ticked messages again', do: async (page, {sees, say}) => {
    await page.goto('/messages?phone=%2B447700910000');
    const button = page.getByRole('button', {name: 'Send the ticked ones again…'});
    await button.click();
    await sees('Not done: no message is ticked.');
    const tick = page.getByRole('checkbox', {name: /^Send message \d+ again$/});
    const all = page.getByRole('button', {name: 'Tick all'}), ticked = page.getByRole('checkbox', {name: /^Send message \d+ again$/, checked: true});
    await all.click();
    if (await ticked.count() !== await tick.count()) say('Tick all leaves out boxes');
    await all.click();
    if (await ticked.count()) say('Tick all does not take ticks back');
    await tick.first().check();
    await page.getByRole('heading', {name: 'Messages', level: 1}).click(); // away from it
    await page.evaluate(() => new Promise(done => document.addEventListener('htmx:afterRequest', () => setTimeout(done), {once: true})));
    if (!await tick.first().isChecked()) say('a tick is lost when the list is made anew');
    await button.click();
    await sees('None goes twice, however often it is asked for.');
    await page.getByRole('button', {name: 'Send 1 message'}).click();
    await sees('1 message was queued again.');
    await sees('Not again: was sent again already'); // the list says so before anybody asks
    await page.getByRole('row').filter({hasText: 'Not again: was sent again already'}).getByRole('link').first().click();
    await page.getByText('Sent again as').waitFor();
    await page.locator('dt:text-is("Sent again as") + dd').getByRole('link').click();
    await page.getByText('Sent again for').waitFor();
  }},
  {name: 'send ticked messages again without scripts', scripts: false, do: async (page, {sees}) => {
    await page.goto('/messages?phone=%2B447700920000');
    const tick = page.getByRole('checkbox', {name: /^Send message \d+ again$/});
    for (let end = Date.now() + 20_000; !await tick.count() && Date.now() < end;) await page.reload(); // what went again fails again
    await tick.first().check();
    await page.getByRole('button', {name: 'Send the ticked ones again…'}).click();
    await page.getByRole('button', {name: 'Send 1 message'}).click();
    await sees('1 message was queued again.');
  }},
  {name: 'resolve all messages in doubt that match', do: async (page, {sees}) => {
    await page.goto('/messages?phone=%2B447700900123&state=in_doubt');
    await page.getByRole('button', {name: 'Resolve all in doubt…'}).click();
    await page.getByLabel('it did arrive').check();
    await page.getByLabel('How you know').fill('asked the person');
    await page.getByRole('button', {name: 'Resolve 2 messages'}).click();
    await sees('2 messages were resolved.');
    await sees('No message is like that.');
  }},
  {name: 'record consent', do: async (page, {sees}) => {
    await page.goto('/people?phone=%2B447700900101');
    await page.getByRole('button', {name: 'Record consent…'}).click();
    await page.getByLabel('does not agree any more').check();
    await page.getByLabel('marketing').check();
    await page.getByLabel('Proof').fill('a letter of May');
    await page.getByRole('button', {name: 'Record it'}).click();
    await sees('was recorded.');
    await sees('marketing: withdrawn');
    await page.getByText('What is known').click();
    await page.getByRole('region', {name: 'Consent, as a table'}).getByRole('cell', {name: 'withdrawn'}).waitFor();
  }},
  {name: 'forget a person', do: async (page, {sees, say}) => {
    await page.goto('/people?phone=%2B447700900122');
    await page.getByRole('button', {name: 'Forget…'}).click();
    await sees('Removed: 1 event with what their webhooks carried, 1 message');
    await page.getByLabel('Yes, forget this person').check();
    await page.getByRole('button', {name: 'Forget this person'}).click();
    await sees('This person is being forgotten.');
    const waits = page.getByText('waits for');
    for (let end = Date.now() + 20_000, first = true; first || await waits.count() && Date.now() < end; first = false) await page.reload();
    if (await waits.count()) say(await page.locator('.notice').allInnerTexts());
    await sees('what was known before is gone');
    await page.goto('/events?phone=%2B447700900122');
    await sees('No event is like that.');
  }},
  {name: 'redaction: forget all of a shop, and keep what is of another', do: async (page, {sees}) => {
    await page.goto('/');
    const sold = page.getByRole('listitem').filter({hasText: 'sold-shop asks'}).getByRole('button', {name: 'Keep it…'});
    await sold.click();
    await sees('The audit has who refused it.');
    await page.getByRole('button', {name: 'Keep what is of sold-shop'}).click();
    await sees('What came by sold-shop stays');
    await sold.waitFor({state: 'detached'});
    await page.getByRole('button', {name: 'Forget all of old-shop…'}).click();
    await sees('Forgotten are 2 events of 1 contact');
    await page.getByLabel('Yes, forget all of it').check();
    await page.getByRole('button', {name: 'Forget all of old-shop'}).click();
    await sees('All that came by old-shop is being forgotten.');
    await page.getByRole('button', {name: 'Forget all of old-shop…'}).waitFor({state: 'detached'});
  }},
  {name: 'halt a job and everything, and let them go on', do: async (page, {sees}) => {
    await page.goto('/jobs/spring-news');
    await page.getByRole('button', {name: 'Halt this job…'}).click();
    await page.getByRole('button', {name: /^Halt job/}).click();
    await sees('is halted.');
    await page.goto('/people'); // it is on every page
    await page.getByRole('button', {name: 'Halt everything…'}).click();
    await page.getByRole('button', {name: /^Halt /}).click();
    await sees('is halted.');
    for (let left = 3; left > 1; left--) { // vip stays as it was
      await page.goto('/system');
      if (await page.getByRole('button', {name: 'Let it go on…'}).count() !== left) throw new Error(`there are not ${left} halts`);
      await page.getByRole('button', {name: 'Let it go on…'}).nth(left === 3 ? 0 : 1).click();
      await page.getByRole('button', {name: 'Let it go on'}).click();
      await sees('goes on.');
    }
  }},
  {name: 'run a job now, and the same list once more', do: async (page, {sees}) => {
    for (const more of [false, true]) {
      await page.goto('/jobs/summer-news');
      await page.getByRole('button', {name: 'Run it now…'}).click();
      await sees('what it would do with its list as it is at this moment');
      if (more) await page.getByLabel('Send the same list once more').check();
      await page.getByRole('button', {name: 'Send to 2 phones'}).click();
      await sees('of summer-news has begun.');
      await page.locator('#live-state').getByText('done').waitFor(); // the page moves by itself
    }
  }},
  {name: 'pause a run, and let it go on', do: async (page, {sees, told}) => {
    await page.goto(`/runs/${told.run.pause}`);
    await page.getByRole('button', {name: 'Pause'}).click();
    await sees('of winter-news is paused.');
    await page.locator('#live-state').getByText('paused').waitFor();
    await sees('before it was approved: 2 rows are more than guard.approve_over, 1');
    await page.getByRole('button', {name: 'Let it go on…'}).click();
    await sees('It waits to be approved then');
    await page.getByRole('button', {name: 'Let it wait for approval'}).click();
    await sees('of winter-news goes on.');
    await page.locator('#live-state').getByText('awaiting approval').waitFor();
  }},
  {name: 'resolve a part in doubt', do: async (page, {sees, told}) => {
    await page.goto(`/runs/${told.run.doubt}`);
    await page.getByRole('button', {name: 'Say what became of it…'}).click();
    await page.getByLabel('it did arrive').check();
    await page.getByLabel('How you know').fill('it is on their list');
    await page.getByRole('button', {name: 'Resolve it'}).click();
    await sees('Part 1 was resolved.');
    await page.locator('#live-state').getByText('done').waitFor();
  }},
  {name: 'retry a run', do: async (page, {sees, told}) => {
    await page.goto(`/runs/${told.run.failed}`);
    await page.getByRole('button', {name: 'Send what did not arrive…'}).click();
    await sees('once more what surely did not arrive');
    await page.getByRole('button', {name: 'Send to 2 phones'}).click();
    await sees(`sends once more what run ${told.run.failed} could not.`);
    await page.locator('#live-state').getByText('done').waitFor();
  }},
  {name: 'reload the config', do: async (page, {sees, told}) => {
    const write = (from, to) => writeFileSync(told.config, readFileSync(told.config, 'utf8').replace(from, to));
    write('wait: 7d', 'wait: 8x');
    await page.goto('/config');
    await sees('cannot be used');
    if (await page.getByRole('button', {name: 'Reload…'}).count()) throw new Error('what cannot be used can be reloaded');
    await page.goto('/system');
    await page.getByRole('button', {name: 'Read the config again…'}).click();
    await sees('Not done: ');
    write('wait: 8x', 'wait: 8d');
    await page.goto('/config');
    await page.getByRole('row', {name: /\+ +wait: 8d/}).waitFor();
    await page.getByRole('button', {name: 'Reload…'}).click();
    await sees('Nothing that waits is touched by what was changed.');
    await page.getByRole('button', {name: 'Take it up'}).click();
    await sees('The config was read: version');
    await sees('the same');
    await sees('taken up');
    await page.getByRole('button', {name: 'Go back to it…'}).first().click();
    await sees('wait: 7d, was 8d');
    await page.getByRole('button', {name: 'Go back to it'}).click();
    await sees('is in use again');
    await sees('went back');
  }},
  {name: 'take files', do: async (page, {say, told}) => {
    const run = `/runs/${told.run['spring-news']}`;
    for (const [path, link, head] of [
      ['/events', 'Export as CSV', 'id,event,topic,phone,'], ['/messages?state=cancelled', 'Export as CSV', 'id,event,run,trigger,step,phone,'],
      [run, 'All rows (CSV)', 'row,file,number,part,phone,state,'], [run, 'Excluded rows (CSV)', 'row,file,number,part,phone,state,'],
      ['/people?phone=%2B447700900103', 'All data (JSON)', '{'],
    ]) {
      await page.goto(path);
      const first = await firstLine(page, page.getByRole('link', {name: link}));
      if (!first.startsWith(head)) say(`${link} of ${path} begins with "${first}"`);
    }
  }},
  {name: 'watch what happens, and pause it', do: async (page, {sees, told}) => {
    await page.goto('/events?kind=walk.happened');
    const happens = async id => {
      const body = JSON.stringify({event: 'walk.happened', event_id: id, phone: '+447700900124', occurred_at: new Date().toISOString()});
      const res = await fetch(told.hooks, {method: 'POST', headers: {'Content-Type': 'application/json', Authorization: `Bearer ${told.secret}`}, body});
      if (res.status !== 200) throw new Error(`the webhook is answered ${res.status}`);
    };
    await happens('walk-1');
    const rows = page.locator('#live-list').getByText('shop.walk.happened');
    await rows.first().waitFor(); // the page moves by itself
    await page.getByRole('button', {name: 'Pause'}).click();
    const stands = () => page.evaluate(() => new Promise(done => document.addEventListener('htmx:beforeRequest', event => setTimeout(() => done(event.defaultPrevented)), {once: true})));
    if (!await stands()) throw new Error('a page that was paused asks');
    await happens('walk-2');
    if (!await stands() || await rows.count() !== 1) throw new Error('a page that was paused moves');
    await page.getByRole('button', {name: 'Go on', exact: true}).click();
    const fresh = page.getByRole('button', {name: '1 new', exact: true}); // what came does not push away what is read
    await fresh.waitFor();
    await page.getByRole('status').getByText('1 new.').waitFor();
    if (await rows.count() !== 1) throw new Error('a new row comes before anybody asks for it');
    await fresh.click();
    await rows.nth(1).waitFor();
    if (await fresh.count()) throw new Error('what was shown is still new');
  }},
  {name: 'copy a phone', do: async (page, {say}) => {
    await page.goto('/people?phone=%2B447700900101');
    await page.locator('h2').getByText('+447700900101').hover(); // which shows the button
    await page.getByRole('button', {name: 'Copy +447700900101'}).first().click();
    await page.getByText('Copied').waitFor();
    const text = await page.evaluate(() => navigator.clipboard.readText());
    if (text !== '+447700900101') say(`the clipboard has "${text}"`);
  }},
  {name: 'choose a password, change it, and sign out elsewhere', do: async (page, {sees, fresh, say}) => {
    await page.goto('/system/users');
    await page.getByLabel('Name', {exact: true}).fill('dora');
    await page.getByRole('button', {name: 'Add, and make a link'}).click();
    await sees('A link for dora');
    const link = page.locator('pre code'), first = await link.innerText();
    await page.getByRole('button', {name: 'New link for dora'}).click();
    await page.getByText(first).waitFor({state: 'detached'});
    const own = await fresh(), other = await fresh();
    await own.goto(await link.innerText());
    await own.getByLabel('New password').fill('a long way to walk');
    await own.getByRole('button', {name: 'Choose and sign in'}).click();
    await own.getByRole('heading', {name: 'Overview', level: 1}).waitFor();
    await own.goto('/account');
    await own.getByLabel('Present password').fill('a long way to walk');
    await own.getByLabel('New password').fill('a longer way to walk');
    await own.getByRole('button', {name: 'Change the password'}).click();
    await own.getByText('Your password is changed.').waitFor();
    await other.goto('/sign-in');
    await other.getByLabel('Name').fill('dora');
    await other.getByLabel('Password').fill('a longer way to walk');
    await other.getByRole('button', {name: 'Sign in'}).click();
    await other.getByRole('heading', {name: 'Overview', level: 1}).waitFor();
    await own.getByRole('button', {name: 'Sign out everywhere else'}).click();
    await own.getByText('Your other sessions have ended.', {exact: true}).waitFor();
    other.expected.add(401);
    if ((await other.goto('/messages')).status() !== 401) say('the other browser is still signed in');
    await page.getByRole('button', {name: 'Disable dora'}).click();
    await sees('signed out everywhere');
    own.expected.add(401);
    if ((await own.goto('/messages')).status() !== 401) say('who is disabled is still signed in');
    await page.getByRole('button', {name: 'Enable dora'}).click();
    await sees('may sign in again');
  }},
  {name: 'look, and change nothing', viewer: true, do: async (page, {say, told}) => {
    page.expected.add(403);
    await page.goto('/');
    for (const order of told.orders) {
      const status = await page.evaluate(async order => (await fetch(`/do/${order}`, {method: 'POST', body: new URLSearchParams({sure: 'yes'})})).status, order);
      if (status !== 403) say(`${order} by a viewer is answered ${status}`);
    }
  }},
  {name: 'sign out', viewer: true, do: async (page, {say}) => {
    const wide = page.viewportSize();
    await page.setViewportSize({width: 390, height: 844});
    await page.goto('/');
    await page.locator('.who a').click();
    await page.getByRole('main').getByRole('button', {name: 'Sign out', exact: true}).waitFor();
    await page.setViewportSize(wide);
    await page.goto('/');
    page.expected.add(401);
    await page.getByRole('button', {name: 'Sign out'}).click();
    await page.getByRole('heading', {name: 'Sign in', level: 1}).waitFor();
    const res = await page.goto('/messages');
    if (res.status() !== 401) say(`signed out, messages answer ${res.status()}`);
  }},
  {name: 'first run', do: async (page, {told, say, sees, sound}) => {
    const looked = async step => {
      await page.locator('h1').filter({hasText: step}).waitFor();
      await page.waitForLoadState();
      await sound();
      await page.setViewportSize({width: 390, height: 844});
      await page.emulateMedia({colorScheme: 'dark'});
      await sound();
      if (told.screenshots) await page.screenshot({path: `${told.screenshots}/setup-${step.slice(0, 8).trim().replaceAll(' ', '-')}-phone.png`, fullPage: true});
      await page.emulateMedia({colorScheme: 'light'});
      await page.setViewportSize({width: 1440, height: 900});
      if (told.screenshots) await page.screenshot({path: `${told.screenshots}/setup-${step.slice(0, 8).trim().replaceAll(' ', '-')}.png`, fullPage: true});
    };
    page.expected.add(401).add(422);
    await page.goto(told.setup.link);
    await looked('Set up nudgewire');
    await page.getByRole('button', {name: 'Begin'}).click();
    await looked('Which messaging service');
    await page.getByLabel('Base address').fill('http://127.0.0.1:1/api/v1');
    await page.getByLabel('API key').fill('a-key-of-nobody');
    await page.getByRole('button', {name: 'Try the key'}).click();
    await sees('cannot be asked');
    await page.getByRole('button', {name: 'Use the pretended service'}).click();
    await looked('Who sends');
    await page.getByLabel('Shop or CRM').selectOption('generic');
    await page.getByRole('button', {name: 'Go on'}).click();
    await looked('Connect Anything');
    await page.getByText('Addresses on this machine').click();
    await page.getByLabel('Where webhooks arrive').fill(told.setup.hooks);
    await page.getByLabel('Where the console is').fill(told.setup.console);
    await page.getByRole('button', {name: 'Go on'}).click();
    await looked('Your first rule');
    const rule = page.getByRole('textbox', {name: 'The rule, in YAML'});
    const good = await rule.inputValue();
    await rule.fill(good.replace('wait: ', 'wiat: '));
    await page.getByRole('button', {name: 'Check it'}).click();
    await sees('did you mean "wait"?');
    await rule.fill(good);
    await page.getByLabel('A phone of your own').fill('+447700900123');
    await page.getByRole('button', {name: 'Check it'}).click();
    await looked('Look, and start');
    await page.getByRole('button', {name: 'Write them'}).click();
    await looked('First webhook');
    await sees('Waiting for the first webhook');
    await page.getByRole('button', {name: 'Post a sample'}).click();
    await sees('It came: generic.');
    await page.getByRole('button', {name: 'Send a message to'}).click();
    await sees(/Message 1: accepted, (delivered|read)/);
    await looked('First webhook');
    const [opened] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', {name: 'Open the console'}).click()]);
    await opened.getByRole('heading', {name: 'Overview', level: 1}).waitFor().catch(() => say('the console does not open'));
  }},
];
