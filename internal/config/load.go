package config

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/nudgewire/nudgewire/internal/history"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/secret"
	"github.com/nudgewire/nudgewire/internal/yamlpos"
)

// Load reads and compiles the config file at path; env finds the variables it refers to
// (os.LookupEnv). Problems that are not warnings forbid running it. The Config is nil only
// when there was no file to read; with problems it holds what could be understood, so that
// commands which need only the storage still work.
func Load(path string, env secret.Lookup) (*Config, yamlpos.Problems) { return load(path, env, "") }

// LoadWithoutSecrets is Load where variables and files that are not here have stand-ins instead of
// being reported, and nothing is said about their values: for people and machines that have no
// secrets. The Config says by StandIns how many; it must not be run.
func LoadWithoutSecrets(path string, env secret.Lookup) (*Config, yamlpos.Problems) {
	return load(path, env, standIn)
}

// standIn is long enough for a secret, and a number in hex and in base64.
const standIn = "5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e5e"

// IsStandIn reports whether a value has a stand-in for a variable or a file in it; see LoadWithoutSecrets.
func IsStandIn(value string) bool { return strings.Contains(value, standIn) }

// StandIns is how many values are not the real ones; see LoadWithoutSecrets.
func (c *Config) StandIns() int { return c.doc.StandIns() }

func load(path string, env secret.Lookup, placeholder string) (*Config, yamlpos.Problems) {
	src, err := read(path)
	if err != nil {
		return nil, coded(yamlpos.Problems{*err})
	}
	c, problems := parse(path, src, env, placeholder, nil)
	if c.doc != nil && c.doc.Root() != nil {
		c.lintFiles()
		problems = c.doc.Problems()
	}
	return c, coded(problems)
}

// read is the file's bytes, one more than are allowed at the most: Parse refuses those.
func read(path string) ([]byte, *yamlpos.Problem) {
	bad := func(msg, hint string) ([]byte, *yamlpos.Problem) {
		return nil, &yamlpos.Problem{File: path, Msg: msg, Hint: hint}
	}
	src, err := wholeFile(func(ctx context.Context) ([]byte, error) { return regular.Read(ctx, path, yamlpos.MaxBytes) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return bad("there is no such file", `make one with "nudgewire setup" or "nudgewire init", or name yours with --config`)
	case errors.Is(err, fs.ErrPermission):
		return bad("may not be read by this user", "check the file's owner and mode")
	case errors.Is(err, regular.ErrFolder):
		return bad("is a directory", "name the file in it")
	case errors.Is(err, regular.ErrNoFile):
		return bad("is no regular file, but a pipe, a socket, a device or something of the system's", `put a regular file there; "nudgewire check -" reads standard input`)
	case errors.Is(err, regular.ErrHangs):
		return bad("cannot be read: "+err.Error(), "see whether the disk or share that holds it answers")
	case err != nil:
		return bad(fmt.Sprintf("cannot be read: %v", err), "")
	}
	return src, nil
}

// wholeFile is all of a file, one byte more than is allowed at the most: Parse refuses those. It is nil with an error only.
func wholeFile(read func(context.Context) ([]byte, error)) ([]byte, error) {
	ctx, done := regular.Bounded()
	defer done()
	src, err := read(ctx)
	if errors.Is(err, regular.ErrTooLarge) {
		return make([]byte, yamlpos.MaxBytes+1), nil
	}
	if src == nil && err == nil {
		src = []byte{}
	}
	return src, err
}

// Parse is Load for a file's bytes; file is its name in problems, and relative paths start at
// its folder.
func Parse(file string, src []byte, env secret.Lookup) (*Config, yamlpos.Problems) {
	return parse(file, src, env, "", nil)
}

// ParseWithoutSecrets is to Parse what LoadWithoutSecrets is to Load.
func ParseWithoutSecrets(file string, src []byte, env secret.Lookup) (*Config, yamlpos.Problems) {
	return parse(file, src, env, standIn, nil)
}

// ParseFiles is Parse for a config of one or several files, in place of those that are there; see Files. Which files it includes is known, so
// nothing is looked for.
func ParseFiles(file string, all []history.ConfigFile, env secret.Lookup) (*Config, yamlpos.Problems) {
	return parse(file, []byte(all[0].Text), env, "", append([]history.ConfigFile{}, all[1:]...))
}

// ParseFilesWithoutSecrets is to ParseFiles what LoadWithoutSecrets is to Load.
func ParseFilesWithoutSecrets(file string, all []history.ConfigFile, env secret.Lookup) (*Config, yamlpos.Problems) {
	return parse(file, []byte(all[0].Text), env, standIn, append([]history.ConfigFile{}, all[1:]...))
}

// parse reads src, and included in place of the files that it names; nil has those read.
func parse(file string, src []byte, env secret.Lookup, placeholder string, included []history.ConfigFile) (*Config, yamlpos.Problems) {
	sum := sha256.New()
	sum.Write(src)
	c := &Config{folder: folderOf(file)}
	c.version(sum)
	if len(bytes.TrimSpace(src)) == 0 {
		return c, yamlpos.Problems{{File: file, Code: yamlpos.Syntax, Line: 1, Col: 1, Msg: "the file is empty", Hint: `"nudgewire init" writes one to begin with`}}
	}
	o := yamlpos.Options{
		Expand: func(text string) (string, error) {
			if secretMark.MatchString(text) {
				return "", markError{}
			}
			return secret.Expand(text, env, c.folder)
		},
		StandIn: placeholder,
		Unknown: unknownKey,
	}
	c.doc = o.Parse(file, src)
	if c.doc.Root() == nil {
		return c, coded(c.doc.Problems())
	}
	if included == nil {
		c.include(o, file, sum)
	}
	for _, f := range included {
		c.addIncluded(o, file, f.Name, []byte(f.Text), sum)
	}
	c.understand(sum)
	return c, coded(c.doc.Problems())
}

// understand makes of the documents that were read what runs. What else it reads goes into sum, too.
func (c *Config) understand(sum hash.Hash) {
	c.doc.Root().Decode(&c.in)
	c.in.Include = nil // what it names is in c.in now, and is to be printed and kept once
	c.API, c.Defaults, c.Tracking, c.Storage, c.Server = c.in.API, c.in.Defaults, c.in.Tracking, c.in.Storage, c.in.Server
	c.Retention, c.Metrics, c.Backup = c.in.Retention, c.in.Metrics, c.in.Backup
	c.Tracing, c.Console = c.in.Tracing, c.in.Console
	k := checker{doc: c.doc}
	c.allHolidays(&k, sum)
	c.version(sum)
	k.api("api", &c.API, c.folder)
	c.Defaults.Country = strings.ToUpper(c.Defaults.Country)
	k.tracking(&c.Tracking)
	k.storage(&c.Storage, c.in.Node.Folder, c.folder)
	onServer := strings.HasPrefix(c.Storage, "postgres")
	k.backup(&c.Backup, c.folder, onServer)
	k.server(&c.Server)
	k.metrics(&c.Metrics, &c.Server)
	k.tracing(&c.Tracing)
	c.Errors = k.errors(c.in.Errors)
	c.compile(&k)
	c.Server.TLS = c.tls(&k, tlsDoor{"server", c.Server.TLS, c.Server.PublicURL})
	c.console(&k)
	c.callers(&k)
	c.retention(&k)
	c.lint(&k)
}

// version names the config by what was read of it.
func (c *Config) version(sum hash.Hash) { c.Version = hex.EncodeToString(sum.Sum(nil))[:12] }

// folderOf is where the relative paths of a config file start: where it lies, as it was named. A
// link is not followed, because what mounts configs as links keeps nothing beside their target.
func folderOf(file string) string {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil { // the working folder is gone
		return filepath.Dir(file)
	}
	return folder
}
