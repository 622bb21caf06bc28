package disk

// SyncFolder has nothing to do: Windows keeps names in a journal of its own, and opens no folder to sync it.
func SyncFolder(string) error { return nil }
