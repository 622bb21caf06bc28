package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/nudgewire/nudgewire/internal/messaging"
	"github.com/nudgewire/nudgewire/internal/privacy"
	"github.com/nudgewire/nudgewire/internal/regular"
	"github.com/nudgewire/nudgewire/internal/server"
	"github.com/nudgewire/nudgewire/internal/store/engine"
)

// forgetLook is how often the daemon looks for what is to be forgotten; forgetAgain how long it leaves what waits for something.
const (
	forgetLook  = 2 * time.Second
	forgetAgain = 10 * time.Second
)

// watchForgetting carries out orders to forget contacts, and lays ready what contacts ask for. A stop in the middle loses
// nothing: the order is stored until all is done.
func (a *App) watchForgetting(ctx context.Context) error {
	log := a.log.Named("contacts")
	var seen messaging.EventID
	told := ""
	var left []privacy.Erasure // orders that are carried out but for what Wipe does
	for {
		pause := forgetLook
		done, waits, err := a.forget(ctx)
		left = append(left, done...)
		if err == nil {
			seen, err = a.answerDataRequests(ctx, log, seen)
		}
		if err == nil && len(left) > 0 {
			if err = a.wipe(ctx, log, left); err == nil {
				left = nil
			}
		}
		switch {
		case err != nil:
			if ctx.Err() == nil { // else it was the stop that cut it off
				log.Error("forget contacts", zap.Error(err))
			}
			pause = forgetAgain
		case waits != "":
			if waits != told {
				log.Info("forgetting contacts waits", zap.String("for", waits))
			}
			pause = forgetAgain
		}
		told = waits
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// forget has the audit know of all orders, and carries out those that there are, but for what Wipe does, and says which. waits says what they wait for, "" when
// nothing is left to do.
func (a *App) forget(ctx context.Context) (done []privacy.Erasure, waits string, err error) {
	records := privacy.Records{Store: a.store}
	if err := records.RecordRedactions(ctx); err != nil {
		return nil, "", err
	}
	all, err := records.Erasures(ctx)
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	if err := records.RecordErasures(ctx, all); err != nil {
		return nil, "", err
	}
	waits, err = records.Erase(ctx, all)
	if err == nil && waits == "" {
		err = a.forgetRequests(ctx, all, privacy.Finder(all))
	}
	if err != nil || waits != "" {
		if err == nil && all[0].Waits != waits {
			err = records.ErasureWaits(ctx, all, waits)
		}
		return nil, waits, err
	}
	if err := records.Erased(ctx, all); err != nil {
		return nil, "", err
	}
	return all, "", nil
}

// wipe clears away what the orders left between the rows.
func (a *App) wipe(ctx context.Context, log *zap.Logger, all []privacy.Erasure) error {
	waits, err := a.store.Wipe(ctx, privacy.Finder(all))
	switch {
	case err != nil:
		return err
	case waits != "":
		log.Warn("contacts are forgotten; what is left of them between the rows of the database goes at "+waits, zap.Int("orders", len(all)))
	default:
		log.Info("contacts are forgotten", zap.Int("orders", len(all)))
	}
	return nil
}

// forgetRequests removes those files that tell of somebody who is forgotten.
func (a *App) forgetRequests(ctx context.Context, all []privacy.Erasure, find interface{ Blot([]byte) bool }) error {
	folder := server.RequestsFolder(engine.Path(a.began.Storage))
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("files of data requests: %w", err)
	}
	for _, one := range files {
		path := filepath.Join(folder, one.Name())
		text, err := regular.Read(ctx, path, server.MaxRequestFile)
		if err != nil {
			return fmt.Errorf("files of data requests: %w", err)
		}
		if !find.Blot(text) && !ofConnector(text, all) {
			continue
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("files of data requests: %w", err)
		}
	}
	return nil
}

// ofConnector reports whether such a file was asked for by a connector all of which is forgotten.
func ofConnector(text []byte, all []privacy.Erasure) bool {
	var v server.RequestFile
	if json.Unmarshal(text, &v) != nil {
		return true // nobody can read it
	}
	for i := range all {
		if all[i].Connector != "" && all[i].Connector == v.Connector {
			return true
		}
	}
	return false
}

// answerDataRequests writes a file for each event since seen that asks for what is stored about its contact, and tells a person.
// It gives the newest event that it looked at.
func (a *App) answerDataRequests(ctx context.Context, log *zap.Logger, seen messaging.EventID) (messaging.EventID, error) {
	records := privacy.Records{Store: a.store}
	ids, newest, err := records.DataRequests(ctx, seen)
	if err != nil {
		return seen, err
	}
	for _, id := range ids {
		e, err := a.store.Event(ctx, id)
		if err != nil {
			return seen, err
		}
		path, err := a.writeRequest(ctx, &e)
		if err != nil {
			return seen, err
		}
		log.Warn("a contact asks for what is stored about it", zap.Int64("event", int64(id)), zap.String("phone", e.Contact.Phone.Masked()),
			zap.String("file", path), zap.String("next", fmt.Sprintf("send it this file, then nudgewire contacts answered %d", id)))
		if err := records.DataRequestAnswered(ctx, id); err != nil {
			return seen, err
		}
	}
	return newest, nil
}

// writeRequest writes the file for one such event. A crash before it is whole leaves no file of its name.
func (a *App) writeRequest(ctx context.Context, e *messaging.Event) (path string, err error) {
	file := server.RequestFile{Event: e.ID, Connector: e.Connector}
	if e.Contact.Phone == "" {
		file.Note = fmt.Sprintf("the event names no phone: nudgewire events show %d says who asks, and nudgewire contacts export PHONE what is stored", e.ID)
	} else {
		data, err := server.DataOf(ctx, a.store, e.Contact.Phone, a.store.Now())
		if err != nil {
			return "", err
		}
		file.DataView = &data
	}
	text, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return "", fmt.Errorf("data of event %d: %w", e.ID, err)
	}
	path = server.RequestPath(engine.Path(a.began.Storage), e.ID)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("folder of data requests: %w", err)
	}
	if err := os.WriteFile(path+".new", append(text, '\n'), 0o600); err != nil {
		return "", fmt.Errorf("data of event %d: %w", e.ID, err)
	}
	return path, os.Rename(path+".new", path)
}
