// Package disk asks the system how much is left: of the disk, and of open files, and which file is which. It also writes what must survive a loss of power.
package disk

// Least is the free space below which a disk is short, in bytes.
const Least = 1 << 30
