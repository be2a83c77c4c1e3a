package oip

import "net/http"

// statusCanceled is nginx's status for a client that went away; HTTP has none.
const statusCanceled = 499

// HTTPStatus returns the status of HTTP for a kind of errors; 500 for one that is not known.
func (c Code) HTTPStatus() int {
	switch c {
	case InvalidArgument:
		return http.StatusBadRequest
	case Unauthenticated:
		return http.StatusUnauthorized
	case PermissionDenied:
		return http.StatusForbidden
	case NotFound:
		return http.StatusNotFound
	case MethodNotAllowed:
		return http.StatusMethodNotAllowed
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case ResourceExhausted:
		return http.StatusTooManyRequests
	case Canceled:
		return statusCanceled
	case Unimplemented:
		return http.StatusNotImplemented
	case Unavailable:
		return http.StatusServiceUnavailable
	case DeadlineExceeded:
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}
