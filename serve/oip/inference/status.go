package inference

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"tvmgo/serve/oip"
)

// maxMessage is the length in bytes of the longest message of an error. It is sent in a header, and clients accept
// 8 KiB of all headers.
const maxMessage = 2000

// The trailers that say what kind of error it is, and after how many seconds a client may try again; in the responses
// of streams, they are parameters.
const (
	grpcStatus = "grpc-status"
	retryAfter = "retry-after"
)

var statusCodes = map[oip.Code]codes.Code{
	oip.Internal:          codes.Internal,
	oip.InvalidArgument:   codes.InvalidArgument,
	oip.Unauthenticated:   codes.Unauthenticated,
	oip.PermissionDenied:  codes.PermissionDenied,
	oip.NotFound:          codes.NotFound,
	oip.TooLarge:          codes.ResourceExhausted,
	oip.ResourceExhausted: codes.ResourceExhausted,
	oip.Canceled:          codes.Canceled,
	oip.Unimplemented:     codes.Unimplemented,
	oip.Unavailable:       codes.Unavailable,
	oip.DeadlineExceeded:  codes.DeadlineExceeded,
}

// statusCode returns the code of gRPC; INTERNAL for one that is not known.
func statusCode(code oip.Code) codes.Code {
	if c, ok := statusCodes[code]; ok {
		return c
	}
	return codes.Internal
}

// answer returns what a client is told about an error: the message of an *oip.Error, and "internal error" for one that
// is not meant for clients.
func answer(err error) *oip.Error {
	e := &oip.Error{Code: oip.Internal, Message: "internal error"}
	switch {
	case errors.As(err, &e):
	case errors.Is(err, context.Canceled):
		e = &oip.Error{Code: oip.Canceled, Message: "the request was canceled"}
	case errors.Is(err, context.DeadlineExceeded):
		e = &oip.Error{Code: oip.DeadlineExceeded, Message: "the time of the request is over"}
	}
	return e
}

// Status returns the status of gRPC for an error of a server of models, nil for nil. The code is that of an
// *oip.Error; errors of contexts are CANCELED and DEADLINE_EXCEEDED, and all others INTERNAL, without their message,
// which may contain what clients must not know. A RetryAfter is a RetryInfo in the details. Errors with a status stay
// as they are.
//
// Interceptors may use it for errors of their own. The calls of the service also set the trailer retry-after, in
// seconds.
func Status(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := err.(interface{ GRPCStatus() *status.Status }); ok {
		return err
	}
	e := answer(err)
	s := status.New(statusCode(e.Code), shortened(e.Message))
	if e.RetryAfter > 0 {
		if detailed, err := s.WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(e.RetryAfter)}); err == nil {
			s = detailed
		}
	}
	return s.Err()
}

// withTrailer returns the status for an error, and calls set with the trailer if there is one.
func withTrailer(err error, set func(metadata.MD)) error {
	if err != nil {
		if e := answer(err); e.RetryAfter > 0 {
			set(metadata.Pairs(retryAfter, strconv.FormatInt(seconds(e.RetryAfter), 10)))
		}
	}
	return Status(err)
}

// seconds returns a time in whole seconds, rounded up.
func seconds(d time.Duration) int64 {
	return int64((d-1)/time.Second) + 1
}

// shortened returns the beginning of a long message, as UTF-8.
func shortened(message string) string {
	if len(message) > maxMessage {
		end := maxMessage
		for end > 0 && !utf8.RuneStart(message[end]) {
			end--
		}
		message = message[:end] + "…"
	}
	return strings.ToValidUTF8(message, "\uFFFD")
}

// within returns an error with a prefix that says what it is about. The code and the time of the next try stay.
func within(what string, err error) *oip.Error {
	e := &oip.Error{Code: oip.Internal}
	if known := (*oip.Error)(nil); errors.As(err, &known) {
		e.Code, e.RetryAfter = known.Code, known.RetryAfter
	}
	e.Message, e.Err = what+": "+err.Error(), err
	return e
}
