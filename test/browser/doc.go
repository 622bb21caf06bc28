// Package browser holds the console against a real browser: Debian's chromium, driven by playwright-core, with axe-core's
// eyes for what people who cannot see, or use no mouse, need. It is tests alone; README.md says how a page or an action is added.
package browser
