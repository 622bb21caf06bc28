// Everything that a person can do on the pages, each done once, in this order, after all pages were looked at. `sees` waits for
// words on the page; `say` reports what is wrong.
export const actions = [
  {name: 'find a person', do: async (page, {sees}) => {
    await page.goto('/');
    await page.getByRole('link', {name: 'People'}).click();
    await page.getByRole('searchbox', {name: 'Phone', exact: true}).fill('07700 900102');
    await page.keyboard.press('Enter');
    await sees('cart.total >= 50');
    await sees('shop.cart.abandoned');
  }},
  {name: 'ask why on the overview', scripts: false, do: async (page, {sees}) => {
    await page.goto('/');
    await page.getByLabel('Why did somebody get a message').fill('+447700900102');
    await page.getByRole('button', {name: 'Tell the story'}).click();
    await sees('cart.total >= 50');
    await sees('✗ no');
  }},
  {name: 'filter messages', do: async (page, {sees, say}) => {
    await page.goto('/messages');
    await page.getByLabel('State').selectOption('cancelled');
    await page.getByRole('button', {name: 'Show', exact: true}).click();
    await sees('cart_reminder');
    if (!page.url().includes('state=cancelled')) say(`the filter is not in the address: ${page.url()}`);
  }},
  {name: 'forecast', do: async (page, {sees}) => {
    await page.goto('/jobs/spring-news');
    await page.getByRole('button', {name: 'Forecast'}).click();
    await sees('the phone was shortened by a spreadsheet');
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
  {name: 'try an edited rule without scripts', scripts: false, do: async (page, {sees, told}) => {
    await page.goto(`/playground?event=${told.event.skipped}`);
    await page.getByRole('combobox', {name: 'Rule'}).selectOption('abandoned-cart');
    await page.getByRole('button', {name: 'Load the rule'}).click();
    await page.getByRole('textbox', {name: 'YAML'}).fill((await page.getByRole('textbox', {name: 'YAML'}).inputValue()).replace('>= 50', '>= 5'));
    await page.getByRole('button', {name: 'Try', exact: true}).click();
    await sees('1 of the answers below would be another');
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
    await page.keyboard.press('/');
    await page.keyboard.type(`event ${told.event.skipped}`); // g and e are typed, and go nowhere
    await page.keyboard.press('Enter');
    await sees('cart.total >= 50');
    if (!page.url().endsWith(`/events/${told.event.skipped}`)) say(`finding leads to ${page.url()}`);
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
  {name: 'sign out', viewer: true, do: async (page, {say}) => {
    await page.goto('/');
    page.expected.add(401);
    await page.getByRole('button', {name: 'Sign out'}).click();
    await page.getByRole('heading', {name: 'Sign in', level: 1}).waitFor();
    const res = await page.goto('/messages');
    if (res.status() !== 401) say(`signed out, messages answer ${res.status()}`);
  }},
];
