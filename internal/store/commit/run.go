package commit

import (
	"cmp"
	"errors"
	"runtime/debug"
	"slices"
)

// RunAll runs the operations of a batch, those of one set together.
func RunAll[T any](t T, ops []*Operation[T]) error {
	for len(ops) > 0 {
		n := together(ops)
		some := ops[:n]
		ops = ops[n:]
		if some[0].Set == nil {
			if err := some[0].runIn(t); err != nil {
				return err
			}
			continue
		}
		// In one order everywhere, or two transactions could wait for each other's rows.
		slices.SortStableFunc(some, func(a, b *Operation[T]) int { return cmp.Compare(a.Key, b.Key) })
		for _, o := range some {
			o.Err = nil
		}
		if err := contain(func(t T) error { return some[0].Set.Run(t, some) }, t); err != nil {
			return err
		}
	}
	return nil
}

// together moves to the front those of the operations that run together with the first, and says how many they are. Of one set with one
// key the second waits for the next turn; what is of no set passes nobody.
func together[T any](ops []*Operation[T]) (n int) {
	first := ops[0]
	if first.Set == nil {
		return 1
	}
	var keys map[int64]bool
	for i, o := range ops {
		if o.Set == nil {
			break
		}
		if o.Set != first.Set || keys[o.Key] {
			continue
		}
		if o.Key != 0 {
			if keys == nil {
				keys = map[int64]bool{}
			}
			keys[o.Key] = true
		}
		copy(ops[n+1:i+1], ops[n:i])
		ops[n] = o
		n++
	}
	return n
}

// runIn runs the operation. One that changed nothing costs its batch nothing: only its caller gets the error.
func (o *Operation[T]) runIn(t T) error {
	o.Err = nil
	err := contain(o.Run, t)
	if _, same := errors.AsType[NoWrite](err); same {
		o.Err, err = err, nil
	}
	return err
}

// contain runs one operation and turns its panic into an error, so that it costs its own caller an
// answer and nobody else anything.
func contain[T any](run func(T) error, t T) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	return run(t)
}
