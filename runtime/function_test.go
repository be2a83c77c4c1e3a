package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"tvmgo/internal/testing/modules"
	"tvmgo/internal/testing/must"
	"tvmgo/runtime"
)

func TestFunction_CallOfGo(t *testing.T) {
	noLeaks(t)
	add := goFunction(t, func(args ...any) (any, error) { return args[0].(int64) + args[1].(int64), nil })
	require.Equal(t, int64(5), call(t, add, 2, 3))
	requireError(t, must.Fail(runtime.NewFunction(nil)), runtime.ErrInvalidArgument, "nil")
}

func TestFunction_ErrorsOfC(t *testing.T) {
	noLeaks(t)
	raise := function(t, probe(t), "raise")
	for code, kind := range map[string]error{
		"ValueError": runtime.ErrInvalidArgument, "TypeError": runtime.ErrInvalidArgument,
		"IndexError": runtime.ErrInvalidArgument, "KeyError": runtime.ErrInvalidArgument,
		"AttributeError": runtime.ErrInvalidArgument, "RuntimeError": runtime.ErrFailed,
		"InternalError": runtime.ErrFailed, "MemoryError": runtime.ErrOutOfMemory,
		"NotFoundError": runtime.ErrNotFound, "CorruptModuleError": runtime.ErrCorruptModule,
		"NotSupportedError": runtime.ErrNotSupported, "DeviceUnavailableError": runtime.ErrDeviceUnavailable,
		"ClosedError": runtime.ErrClosed, "SomethingElse": runtime.ErrFailed, "": runtime.ErrFailed,
	} {
		for _, message := range []string{"", "short", "what went wrong, and what to do about it"} {
			_, err := raise.Call(code, message)
			e := requireError(t, err, kind)
			require.Equal(t, code, e.Code)
			require.Equal(t, message, e.Message)
			require.Equal(t, "probe.c:1\n", e.Backtrace)
			require.Equal(t, "call function", e.Op)
			require.NoError(t, e.Unwrap())
			if message != "" {
				require.Equal(t, "call function: "+message, err.Error())
			} else {
				require.Equal(t, "call function: "+kind.Error(), err.Error())
			}
		}
	}
}

func TestFunction_FailsWithoutAnError(t *testing.T) {
	noLeaks(t)
	f := function(t, probe(t), "fail_without_error")
	for _, rc := range []int{-1, -2, 1, 77} {
		requireError(t, must.Fail(f.Call(rc)), runtime.ErrFailed)
		b := must.Get(f.Bind(rc))(t)
		requireError(t, b.Call(), runtime.ErrFailed)
		require.NoError(t, b.Close())
	}
	require.Nil(t, call(t, f, 0))
	classic := modules.Load(t, buildC(t, classicSource))
	_, err := function(t, classic, "fail_without_error").Call()
	requireError(t, err, runtime.ErrFailed, "without setting an error")
	_, err = function(t, classic, "fail").Call()
	e := requireError(t, err, runtime.ErrInvalidArgument)
	require.Equal(t, "TypeError", e.Code)
	require.Equal(t, "not what was asked for", e.Message)
}

// What a function of C gives is checked by the calls from Go: a wrong result is an error, and nothing releases it.
func TestFunction_WrongResultsOfC(t *testing.T) {
	noLeaks(t)
	f := function(t, probe(t), "give_wrong")
	for index, text := range map[int]string{
		8: "const char* (type index 8) is a view", 10: "(type index 10) is a view", 63: "no value has the type index 63",
		-1: "no value has the type index -1", 65: "str is a NULL pointer", 68: "Function is a NULL pointer",
	} {
		requireError(t, must.Fail(f.Call(index)), runtime.ErrInvalidArgument, "its result is wrong", text)
		b := must.Get(f.Bind(index))(t)
		requireError(t, b.Call(), runtime.ErrInvalidArgument, "its result is wrong", text)
		require.NoError(t, b.Close())
	}
	require.Nil(t, call(t, f, 0))
}

type customError struct{ code int }

func (e *customError) Error() string { return fmt.Sprintf("custom %d", e.code) }

func TestFunction_GoErrorsPassThroughC(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	for _, c := range []struct {
		err  error
		kind error
		code string
	}{
		{io.EOF, runtime.ErrFailed, "RuntimeError"},
		{fmt.Errorf("read: %w", io.ErrUnexpectedEOF), runtime.ErrFailed, "RuntimeError"},
		{&customError{7}, runtime.ErrFailed, "RuntimeError"},
		{context.Canceled, runtime.ErrFailed, "RuntimeError"},
		{runtime.ErrNotFound, runtime.ErrNotFound, "NotFoundError"},
		{fmt.Errorf("bind: %w", runtime.ErrInvalidArgument), runtime.ErrInvalidArgument, "ValueError"},
		{&runtime.Error{Kind: runtime.ErrOutOfMemory, Message: "full"}, runtime.ErrOutOfMemory, "MemoryError"},
		{&runtime.Error{Kind: runtime.ErrFailed, Code: "OwnError", Message: "own"}, runtime.ErrFailed, "OwnError"},
		{errors.Join(io.EOF, runtime.ErrClosed), runtime.ErrClosed, "ClosedError"},
		{errors.New(strings.Repeat("long ", 10000)), runtime.ErrFailed, "RuntimeError"},
		{errors.New(""), runtime.ErrFailed, "RuntimeError"},
	} {
		f := goFunction(t, func(...any) (any, error) { return "ignored", c.err })
		nested := goFunction(t, func(args ...any) (any, error) {
			_, err := f.Call()
			return nil, fmt.Errorf("outer: %w", err)
		})
		for _, g := range []*runtime.Function{f, nested} {
			for _, err := range []error{
				func() error { _, err := g.Call(); return err }(),
				func() error { _, err := function(t, p, "call").Call(g, 1, "x"); return err }(),
				func() error { b, _ := g.Bind(); defer b.Close(); return b.Call() }(),
			} {
				e := requireError(t, err, c.kind, c.err.Error())
				require.ErrorIs(t, err, c.err)
				require.Equal(t, c.code, e.Code)
				if want, ok := c.err.(*customError); ok {
					var got *customError
					require.ErrorAs(t, err, &got)
					require.Same(t, want, got)
				}
			}
		}
	}
}

func TestFunction_TypedNilErrorIsAPanic(t *testing.T) {
	noLeaks(t)
	f := goFunction(t, func(...any) (any, error) { return nil, (*customError)(nil) })
	requireError(t, must.Fail(f.Call()), runtime.ErrFailed, "panic", "nil pointer")
}

var stackStart = regexp.MustCompile(`(?m)^goroutine \[panicking\]:$`)

func TestFunction_PanicsBecomeErrors(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	for _, c := range []struct {
		value any
		says  string
	}{
		{"boom", "panic: boom"},
		{io.EOF, "panic: EOF"},
		{42, "panic: 42"},
		{nil, "panic called with nil argument"},
		{fmt.Errorf("wrapped: %w", runtime.ErrNotFound), "panic: wrapped"},
		{errors.Join(io.EOF, runtime.ErrClosed), "panic: EOF; closed"},
		{"two\nlines", "panic: two; lines"},
	} {
		f := goFunction(t, func(...any) (any, error) { panic(c.value) })
		nested := goFunction(t, func(...any) (any, error) { return function(t, p, "call").Call(f) })
		for _, g := range []*runtime.Function{f, nested} {
			_, err := function(t, p, "call").Call(g)
			require.ErrorContains(t, err, c.says)
			var e *runtime.Error
			require.ErrorAs(t, err, &e)
			require.NotContains(t, e.Message, "\n", "one line")
			require.NotContains(t, err.Error(), "function_test.go", "the stack is not part of the message")
			require.Len(t, stackStart.FindAllString(e.Backtrace, -1), 1, "one stack")
			require.Contains(t, strings.SplitN(e.Backtrace, "\n", 3)[1], "function_test.go", "the panic's position")
			if v, ok := c.value.(error); ok {
				require.ErrorIs(t, err, v)
			}
		}
	}
	// A Go function that wraps an error from C keeps its stack.
	f := goFunction(t, func(...any) (any, error) { panic("deep") })
	wraps := goFunction(t, func(...any) (any, error) {
		_, err := function(t, p, "call").Call(f)
		return nil, fmt.Errorf("outer: %w", err)
	})
	_, err := wraps.Call()
	require.NotEmpty(t, requireError(t, err, runtime.ErrFailed, "outer: ", "panic: deep").Backtrace)
	index := goFunction(t, func(args ...any) (any, error) { return args[3], nil })
	requireError(t, must.Fail(index.Call()), runtime.ErrFailed, "index out of range")
	require.Equal(t, int64(2), call(t, index, 0, 0, 0, 2), "the function still works")
}

func TestFunction_CalleeForgetsTheError(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	bad := goFunction(t, func(...any) (any, error) { return nil, io.EOF })
	require.Equal(t, int64(1), call(t, function(t, p, "call_and_forget"), bad))
	require.Equal(t, int64(0), call(t, function(t, p, "call_and_forget"),
		goFunction(t, func(...any) (any, error) { return "a result that is dropped", nil })))
}

func TestFunction_BadResultOfGo(t *testing.T) {
	noLeaks(t)
	x := tensor(t, []int8{1})
	for _, v := range []any{struct{}{}, []any{x, []string{"x"}}, uint64(1 << 63)} {
		_, err := goFunction(t, func(...any) (any, error) { return v, nil }).Call()
		requireError(t, err, runtime.ErrInvalidArgument, "return value")
	}
	closed := tensor(t, []int8{1})
	require.NoError(t, closed.Close())
	_, err := goFunction(t, func(...any) (any, error) { return closed, nil }).Call()
	require.ErrorContains(t, err, "closed")
}

func TestFunction_ReturnsANewTensor(t *testing.T) {
	noLeaks(t)
	make := func(close bool) *runtime.Function {
		return goFunction(t, func(...any) (any, error) {
			x, err := runtime.FromSlice([]int32{1, 2, 3})
			if err == nil && close {
				x.Close()
			}
			return x, err
		})
	}
	x := call(t, make(false)).(*runtime.Tensor)
	require.Equal(t, []int32{1, 2, 3}, slice[int32](t, x))
	require.NoError(t, x.Close())
	// The function closes its own result before returning it: an error, not a closed tensor.
	require.ErrorContains(t, must.Fail(make(true).Call()), "closed")
}

func TestFunction_ReturnsItsArgumentsTwice(t *testing.T) {
	noLeaks(t)
	g := goFunction(t, func(args ...any) (any, error) { return []any{args[0], args[0]}, nil })
	list := call(t, g, tensor(t, []int32{1, 2, 3})).([]any)
	for _, x := range list {
		require.Equal(t, []int32{1, 2, 3}, slice[int32](t, x.(*runtime.Tensor)))
		x.(*runtime.Tensor).Close()
	}
}

func TestFunction_Recursion(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	through := function(t, p, "call")
	var f *runtime.Function
	f = goFunction(t, func(args ...any) (any, error) {
		n := args[0].(int64)
		if n == 0 {
			return int64(0), nil
		}
		v, err := through.Call(f, n-1)
		if err != nil {
			return nil, err
		}
		return v.(int64) + n, nil
	})
	require.Equal(t, int64(5050), call(t, f, 100))
}

// The values of a call do not move, however much the goroutine's stack grows during the call.
func TestFunction_StackGrowsDuringACall(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	grow := goFunction(t, func(args ...any) (any, error) { return int64(useStack(64)), nil })
	done := make(chan any)
	go func() {
		v, err := function(t, p, "call").Call(grow, "a long text as argument", 1, 2, 3)
		if err != nil {
			v = err
		}
		done <- v
	}()
	require.Equal(t, int64(64), <-done)
}

//go:noinline
func useStack(n int) int {
	var room [16 << 10]byte
	room[n] = 1
	if n == 0 {
		return 0
	}
	return useStack(n-1) + int(room[n])
}

func TestFunction_HeldByC(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	f := must.Get(runtime.NewFunction(func(args ...any) (any, error) { return args[0].(int64) * 2, nil }))(t)
	call(t, function(t, p, "hold"), f)
	require.NoError(t, f.Close())
	require.Equal(t, int64(8), call(t, function(t, p, "call_held"), 4))
	call(t, function(t, p, "hold"))
}

func TestFunction_CalledOnThreadsOfC(t *testing.T) {
	noLeaks(t)
	p := probe(t)
	add := goFunction(t, func(args ...any) (any, error) { return args[0].(int64) + args[1].(int64), nil })
	on := function(t, p, "on_threads")
	for range 20 { // threads start and end
		require.Equal(t, int64(0), call(t, on, add, 16, 10))
	}
	bad := goFunction(t, func(args ...any) (any, error) {
		if args[1] == int64(3) {
			return nil, io.EOF
		}
		return args[0].(int64) + args[1].(int64), nil
	})
	require.ErrorIs(t, must.Fail(on.Call(bad, 4, 10)), io.EOF, "an error moves from thread to thread")
	boom := goFunction(t, func(...any) (any, error) { panic("boom") })
	requireError(t, must.Fail(on.Call(boom, 2, 2)), runtime.ErrFailed, "panic: boom")
}

func TestFunction_UsedAfterClose(t *testing.T) {
	compiler(t)
	noLeaks(t)
	f := must.Get(runtime.NewFunction(func(...any) (any, error) { return nil, nil }))(t)
	echo := function(t, probe(t), "echo")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	for _, f := range []*runtime.Function{f, nil} {
		for range 3 {
			requireError(t, must.Fail(f.Call()), runtime.ErrClosed, "function is closed")
			requireError(t, must.Fail(f.Bind()), runtime.ErrClosed)
			requireError(t, must.Fail(f.CallOn(nil)), runtime.ErrClosed)
			requireError(t, runtime.RegisterGlobal("tvmgo_test.closed", f, true), runtime.ErrClosed)
		}
		require.NoError(t, f.Close())
	}
	requireError(t, must.Fail(echo.Call(f)), runtime.ErrClosed, "argument 0")
	requireError(t, must.Fail(echo.Call([]any{f})), runtime.ErrClosed)
}

// Closing while calls are in progress: they end normally.
func TestFunction_ClosedDuringACall(t *testing.T) {
	noLeaks(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	f, err := runtime.NewFunction(func(args ...any) (any, error) {
		entered <- struct{}{}
		<-leave
		return slice[int32](t, args[0].(*runtime.Tensor))[1] == 2, nil
	})
	require.NoError(t, err)
	x := tensor(t, []int32{1, 2})
	results := make(chan error, 4)
	for range cap(results) {
		go func() {
			v, err := f.Call(x)
			if err == nil && v != true {
				err = fmt.Errorf("got %v", v)
			}
			results <- err
		}()
	}
	for range cap(results) {
		<-entered
	}
	require.NoError(t, f.Close())
	require.NoError(t, x.Close())
	requireError(t, must.Fail(f.Call(x)), runtime.ErrClosed)
	close(leave)
	for range cap(results) {
		require.NoError(t, <-results)
	}
}
