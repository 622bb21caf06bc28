// Every page, with what a person must see on it. `path` may be made of the facts (shop_test.go); `viewer` is what is different
// for somebody who may see no whole phones.
const one = (what, name) => told => `/${what}s/${told[what][name]}`;
const run = name => told => `/runs/${told.run[name]}`;

export const pages = [
  {name: 'overview', path: '/', heading: 'Overview', sees: ['Waiting', 'In doubt', 'From event to phone', 'spring-news', 'recipient is not on the network']},
  {name: 'events', path: '/events', heading: 'Events', sees: ['shop.cart.abandoned', 'shop.message.received', 'Received']},
  {name: 'events-of-a-phone', path: '/events?phone=%2B447700900103', heading: 'Events', sees: ['shop.order.created'], hides: ['shop.vip'],
    viewer: {path: '/events?kind=order.created'}},
  {name: 'events-none', path: '/events?kind=no.such', heading: 'Events', sees: ['Show all']},
  {name: 'event-skipped', path: one('event', 'skipped'), heading: 'Event', sees: ['abandoned-cart', 'cart.total >= 50', '✗ no', '12.00']},
  {name: 'event-strange', path: one('event', 'strange'), heading: 'Event', sees: ['<script>alert('], viewer: {sees: []}},
  {name: 'rejected', path: '/events/rejected', heading: 'Requests that were not taken', sees: ['401']},
  {name: 'messages', path: '/messages', heading: 'Messages', sees: ['order_update', 'in doubt', 'cancelled', 'step 1 of 2', 'birthday']},
  {name: 'messages-in-doubt', path: '/messages?state=in_doubt', heading: 'Messages', sees: ['order-thanks'], hides: ['abandoned-cart cart']},
  {name: 'message-delivered', path: one('message', 'delivered'), heading: 'Message', sees: ['What happened to it', 'order_update', 'Chloe'], viewer: {sees: ['order_update']}},
  {name: 'message-cancelled', path: one('message', 'cancelled'), heading: 'Message', sees: ['cancelled by shop.order.created']},
  {name: 'message-strange', path: one('message', 'strange'), heading: 'Message', sees: ['<script>alert("Grace")</script>{{ order.total }}'], viewer: {sees: []}},
  {name: 'message-doubt', path: one('message', 'doubt'), heading: 'Message', sees: ['in doubt']},
  {name: 'message-night', path: one('message', 'night'), heading: 'Message', sees: ['quiet hours', 'back_in_stock']},
  {name: 'message-limited', path: one('message', 'limited'), heading: 'Message', sees: ['1 of 1 per day']},
  {name: 'message-halted', path: one('message', 'halted'), heading: 'Message', sees: ['trigger "vip" is halted']},
  {name: 'people', path: '/people', heading: 'People', sees: ['Type a phone']},
  {name: 'person', path: '/people?phone=%2B447700900103', heading: 'People', sees: ['cart_reminder', 'cancelled by shop.order.created', 'delivered'], viewer: {path: '/people', sees: []}},
  {name: 'person-stopped', path: '/people?phone=%2B447700900110', heading: 'People', sees: ['Blocked', 'opted out', 'withdrawn'], viewer: {path: '/people', sees: []}},
  {name: 'person-nobody', path: '/people?phone=%2B447700900999', heading: 'People', sees: ['See what was not taken'], viewer: {path: '/people', sees: []}},
  {name: 'triggers', path: '/triggers', heading: 'Triggers', sees: ['abandoned-cart', 'shadow', 'halted']},
  {name: 'trigger', path: '/triggers/abandoned-cart', heading: 'abandoned-cart', sees: ['cart.total >= 50', 'cancel_on: shop.order.created']},
  {name: 'trigger-halted', path: '/triggers/vip', heading: 'vip', sees: ['the offer is being rewritten']},
  {name: 'jobs', path: '/jobs', heading: 'Jobs', sees: ['spring-news', 'birthday', 'by hand', 'awaiting approval']},
  {name: 'job', path: '/jobs/spring-news', heading: 'spring-news', sees: ['Forecast'], viewer: {sees: [], hides: ['Forecast']}},
  {name: 'run', path: run('spring-news'), heading: 'Run', sees: ['114', 'the phone was shortened by a spreadsheet', 'SHA-256']},
  {name: 'run-per-message', path: run('birthday'), heading: 'Run', sees: ['What became of its messages']},
  {name: 'run-to-approve', path: run('approve'), heading: 'Run', sees: ['awaiting approval']},
  {name: 'system', path: '/system', heading: 'System', sees: ['Version', 'Database', 'Counters', 'config.yaml']},
  {name: 'nowhere', path: '/no-such-page', heading: 'Not found', status: 404, sees: ['There is no such page.']},
  {name: 'no-such-message', path: '/messages/99999', heading: 'Not found', status: 404},
];
