package terminal

import (
	"context"
	"os/exec"
	"runtime"
)

// Watched reports whether somebody sits at this terminal, with a screen that a browser could open on.
func (c *CLI) Watched(env func(string) string) bool {
	screen := runtime.GOOS == "darwin" || runtime.GOOS == "windows" || env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != ""
	return screen && env("CI") == "" && env("SSH_CONNECTION") == "" && IsTerminal(c.Out) && IsTerminal(c.Err)
}

// OpenBrowser asks the system to show an address. It is a kindness: where it does not work the address is printed anyway.
func OpenBrowser(ctx context.Context, address string) {
	name, args := opener(runtime.GOOS)
	cmd := exec.CommandContext(context.WithoutCancel(ctx), name, append(args, address)...) //nolint:gosec // the address is ours
	cmd.SysProcAttr = ofItsOwn()                                                           // Ctrl-C ends the demo, and not the browser that it opened
	if cmd.Start() == nil {
		_ = cmd.Process.Release() // nobody waits for it: it may live as long as the browser
	}
}

// opener is the system's program for showing an address.
func opener(system string) (name string, args []string) {
	switch system {
	case "darwin":
		return "open", nil
	case "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	default:
		return "xdg-open", nil
	}
}
