// Walks the console in a browser. It reads what it is told from standard input (facts in shop_test.go), looks at every page of
// pages.mjs, does every action of actions.mjs, and writes a report: how much it looked at, and what was wrong.
import {readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {join} from 'node:path';
import {chromium} from 'playwright-core';
import {actions} from './actions.mjs';
import {pages} from './pages.mjs';

const told = JSON.parse(readFileSync(0, 'utf8'));
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const only = list => list.filter(one => new RegExp(told.only).test(one.name));
const report = {looks: 0, actions: 0, wrong: []};

const desktop = {width: 1440, height: 900};
const laptop = {width: 1280, height: 800};
const phone = {width: 390, height: 844};

// Each way of looking at all pages. The first also goes through each page by the Tab key.
const ways = [
  {name: 'light', theme: 'light', viewport: desktop, tabs: true},
  {name: 'dark', theme: 'dark', viewport: laptop},
  {name: 'light phone', theme: 'light', viewport: phone},
  {name: 'dark phone', theme: 'dark', viewport: phone},
  {name: 'no scripts', theme: 'light', viewport: desktop, scripts: false},
  {name: 'no scripts phone', theme: 'light', viewport: phone, scripts: false},
  {name: 'viewer', theme: 'light', viewport: desktop, viewer: true},
];
const atOnce = 3;
const most = 20_000; // milliseconds that anything may take: for hangs only
const shift = 0.01; // how much of a page may move while it loads, as browsers count it

const pressed = new Set(); // the actions that were carried out

// What a page is watched for from its first moment on.
function watching() {
  window.seen = {violations: [], shift: 0, moved: []};
  document.addEventListener('securitypolicyviolation', e => window.seen.violations.push(`${e.violatedDirective} ${e.blockedURI} ${e.sample}`));
  const count = entries => {
    for (const entry of entries) {
      if (entry.hadRecentInput) continue;
      window.seen.shift += entry.value;
      for (const {node} of entry.sources) window.seen.moved.push((node?.outerHTML ?? node?.textContent ?? '').slice(0, 80));
    }
  };
  const observer = new PerformanceObserver(list => count(list.getEntries()));
  observer.observe({type: 'layout-shift', buffered: true});
  // A list that follows what happens has new rows after a while, which move the others: that is no more while it loads.
  document.addEventListener('htmx:beforeSwap', () => {
    count(observer.takeRecords());
    observer.disconnect();
  }, {once: true});
}

// afterFirstPaint gives a page its scripts once a person can see it, as a slow network does: what they move then, moves under their eyes.
// (A fast machine runs them before it paints, and shows no shift.)
async function afterFirstPaint(route) {
  await route.request().frame().waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0).catch(() => {}); // left meanwhile
  await route.continue().catch(() => {});
}

async function newContext(browser, way, state) {
  const context = await browser.newContext({
    baseURL: told.base, viewport: way.viewport, colorScheme: way.theme, javaScriptEnabled: way.scripts !== false, reducedMotion: 'reduce', storageState: state,
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(most);
  await context.addInitScript(watching);
  if (way.scripts !== false) await context.route(/\/static\/.*\.js/, afterFirstPaint);
  return context;
}

// watched opens a page whose console and requests are watched; expected are answers of 400 and more that it is there to see.
async function watched(context, say) {
  const page = await context.newPage();
  page.expected = new Set();
  page.on('console', m => {
    if (['error', 'warning'].includes(m.type()) && ![...page.expected].some(s => m.text().includes(`status of ${s}`))) say(`the console says: ${m.text()}`);
  });
  page.on('pageerror', e => say(`a script broke: ${e.message}`));
  page.on('requestfailed', r => {
    // What is still under way when the page is left is no failure: a stream ends so.
    if (r.failure()?.errorText !== 'net::ERR_ABORTED') say(`${r.url()} failed: ${r.failure()?.errorText}`);
  });
  page.on('response', r => {
    const order = /\/do\/(.+)$/.exec(r.url());
    if (order && r.status() === 303) pressed.add(order[1]); // no question any more
    if (r.status() >= 400 && !page.expected.has(r.status())) say(`${r.url()} answered ${r.status()}`);
  });
  return page;
}

// sound says what is wrong with any page, whatever it shows.
async function sound(page, way, say) {
  const seen = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth, ...window.seen,
  }));
  if (seen.wide > 0) say(`it is ${seen.wide} pixels wider than the window`);
  if (way.scripts === false) return;
  for (const v of seen.violations) say(`the policy was broken: ${v}`);
  // Where the browser paints a long table in two pieces, because the machine was busy between them, its columns move once. What a page does
  // to itself it does each time.
  let {shift: moved, moved: parts} = seen;
  for (let again = 0; !way.acted && moved > shift && again < 3; again++) {
    await page.reload();
    ({shift: moved, moved: parts} = await page.evaluate(() => window.seen));
  }
  if (!way.acted && moved > shift) say(`its layout shifts by ${moved.toFixed(3)}: ${parts.join(', ')}`);
  await page.evaluate(axe);
  const {violations} = await page.evaluate(() => window.axe.run({resultTypes: ['violations']}));
  for (const v of violations) say(`axe, ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map(n => `${n.target} ${n.html.slice(0, 120)} ${(n.any[0] ?? n.all[0] ?? n.none[0])?.message ?? ''}`).join(' | ')}`);
}

// tabs goes through a page by the Tab key: everything that can be used is come to, in the order of the page, and shows it. The page may
// be made anew meanwhile; the focus stays where it is.
async function tabs(page, say) {
  const where = () => page.evaluate(() => {
    const all = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
      .filter(e => !e.disabled && e.type !== 'hidden' && e.tabIndex >= 0 && e.checkVisibility());
    const e = document.activeElement, s = getComputedStyle(e);
    return {at: all.indexOf(e), of: all.length, parts: e.type === 'datetime-local', shown: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) >= 2, html: e.outerHTML.slice(0, 120)};
  });
  const {of} = await where();
  for (let i = 0; i < of; i++) {
    await page.keyboard.press('Tab');
    let now = await where();
    for (let part = 0; part < 8 && now.at === i - 1 && now.parts; part++) { // day, month and so on are come to one by one
      await page.keyboard.press('Tab');
      now = await where();
    }
    if (now.at !== i) return say(`Tab ${i + 1} comes to number ${now.at + 1}, ${now.html}`);
    if (!now.shown) return say(`nothing shows that ${now.html} has the focus`);
  }
}

// look opens a page in one way, and says what a person would miss.
async function look(page, spec, way, say) {
  const as = way.viewer ? {...spec, ...spec.viewer} : spec;
  const status = as.status ?? 200;
  page.expected.clear();
  page.expected.add(status);
  const path = typeof as.path === 'function' ? as.path(told) : as.path;
  const res = await page.goto(path);
  if (res.status() !== status) return say(`${path} answers ${res.status()}, not ${status}`);
  const heading = (await page.locator('h1').innerText()).trim();
  if (!heading.startsWith(as.heading)) say(`${path} has the heading "${heading}", not "${as.heading}"`);
  const text = (await page.locator('body').innerText()).replace(/\s+/g, ' ');
  for (const s of as.sees ?? []) if (!text.includes(s)) say(`${path} does not show "${s}"`);
  for (const s of as.hides ?? []) if (text.includes(s)) say(`${path} shows "${s}"`);
  if (way.viewer) {
    const whole = (await page.content()).replace(/placeholder="[^"]*"/g, '').match(/(44|0)77009\d{5}/);
    if (whole) say(`${path} shows the whole phone ${whole[0]}`);
    const buttons = await page.locator('form[action^="/do/"] button').allInnerTexts();
    if (buttons.length > 0) say(`${path} shows who may only look the buttons ${buttons}`);
  }
  await sound(page, way, say);
  if (way.tabs) await tabs(page, say);
  report.looks++;
  if (told.screenshots && !way.viewer && way.scripts !== false) {
    await page.mouse.move(0, 0);
    await page.evaluate(() => document.activeElement?.blur());
    // As high as its content: what is fixed to the window is at the place where it is at first.
    await page.setViewportSize({width: way.viewport.width, height: await page.evaluate(() => document.documentElement.scrollHeight)});
    await page.screenshot({path: join(told.screenshots, `${spec.name}-${way.name.replaceAll(' ', '-')}.png`)});
    await page.setViewportSize(way.viewport);
    if (spec.shown && told.images && way.name === (spec.shown.way ?? 'light')) {
      const session = await page.context().newCDPSession(page);
      const {data} = await session.send('Page.captureScreenshot', {format: 'webp', quality: 88});
      writeFileSync(join(told.images, `${spec.shown.as}.webp`), Buffer.from(data, 'base64'));
    }
  }
}

async function signIn(browser, link, say) {
  const context = await newContext(browser, ways[0]);
  const page = await watched(context, say);
  await page.goto(link);
  if (!link.endsWith('#begin')) {
    await sound(page, ways[0], say);
    await page.getByRole('button', {name: 'Sign in'}).click();
  }
  await page.getByRole('heading', {name: 'Overview', level: 1}).waitFor();
  const state = await context.storageState();
  await context.close();
  return state;
}

const sayAs = name => words => report.wrong.push(`${name}: ${words}`);

const browser = await chromium.launch({
  executablePath: told.chromium, env: {...process.env, ...told.env},
  args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-dev-shm-usage'],
});
try {
  const admin = await signIn(browser, told.admin + '#begin', sayAs('sign in'));
  const viewer = await signIn(browser, told.viewer, sayAs('sign in as a viewer'));
  const left = [...ways];
  await Promise.all(Array.from({length: atOnce}, async () => {
    for (let way; (way = left.shift());) {
      const context = await newContext(browser, way, way.viewer ? viewer : admin);
      let page, say = sayAs(way.name);
      page = await watched(context, words => say(words));
      for (const spec of only(pages)) {
        say = sayAs(`${spec.name} (${way.name})`);
        try {
          await look(page, spec, way, words => say(words));
        } catch (e) {
          say(e.message);
        }
      }
      await context.close();
    }
  }));
  for (const action of only(actions)) {
    const say = sayAs(`action: ${action.name}`);
    const context = await newContext(browser, {theme: 'light', viewport: desktop, scripts: action.scripts}, action.viewer ? viewer : admin);
    const page = await watched(context, say);
    try {
      const fresh = async () => watched(await newContext(browser, {theme: 'light', viewport: desktop}), say);
      await action.do(page, {told, say, fresh, sound: () => sound(page, {acted: true}, say), sees: async words => {
        await page.getByText(words).first().waitFor().catch(() => say(`nothing says "${words}": ${page.url()}`));
        await page.waitForLoadState(); // its scripts listen from then on
      }});
      await sound(page, {scripts: action.scripts, acted: true}, say); // what happens on a page may move it
      report.actions++;
    } catch (e) {
      say(e.message);
    }
    await context.close();
  }
  if (told.only === '') for (const order of told.orders) if (!pressed.has(order)) report.wrong.push(`no action presses the button of /do/${order}`);
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(report));
