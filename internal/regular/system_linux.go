package regular

import (
	"os"
	"syscall"
)

// Kinds of file systems that the system makes up as they are read (statfs(2)).
var made = map[int64]bool{
	0x9fa0:     true, // proc
	0x62656572: true, // sysfs
	0x64626720: true, // debugfs
	0x74726163: true, // tracefs
	0x73636673: true, // securityfs
}

// ofTheSystem reports a file that says it is regular and is none: /proc/kmsg has no end, /proc/self/environ holds secrets.
func ofTheSystem(f *os.File) bool {
	var s syscall.Statfs_t
	return syscall.Fstatfs(int(f.Fd()), &s) == nil && made[int64(s.Type)&0xffffffff] //nolint:unconvert // 32 bits wide on some machines
}
