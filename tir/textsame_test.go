package tir

import (
	"fmt"
	"math"
	"reflect"

	"tvmgo/target"
)

// textSame says where two modules differ, "" if they don't: variables and buffers of one stand for those of the other, one for one, and all else is
// equal, floats to the bit. Names of variables and buffers may differ.
func textSame(a, b any) string {
	s := &sameness{map[any]any{}, map[any]any{}}
	return s.differ("", reflect.ValueOf(a), reflect.ValueOf(b))
}

type sameness struct{ there, back map[any]any }

// pair says that two variables or buffers stand for each other; known if that was said before.
func (s *sameness) pair(a, b any) (known, ok bool) {
	x, hasA := s.there[a]
	y, hasB := s.back[b]
	if hasA || hasB {
		return true, hasA && hasB && x == b && y == a
	}
	s.there[a], s.back[b] = b, a
	return false, true
}

func (s *sameness) differ(path string, a, b reflect.Value) string {
	if !a.IsValid() || !b.IsValid() {
		if a.IsValid() != b.IsValid() {
			return path + ": only one is there"
		}
		return ""
	}
	if a.Type() != b.Type() {
		return fmt.Sprintf("%s: %s and %s", path, a.Type(), b.Type())
	}
	switch a.Kind() {
	case reflect.Interface:
		return s.differ(path, a.Elem(), b.Elem())
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return s.equal(path, a.IsNil(), b.IsNil())
		}
		switch x := a.Interface().(type) {
		case *target.Target:
			return s.equal(path, x.JSON(), b.Interface().(*target.Target).JSON())
		case *Var:
			if _, ok := s.pair(x, b.Interface()); !ok {
				return path + ": another variable than before: " + x.Name
			}
			return s.equal(path, x.Type, b.Interface().(*Var).Type)
		case *Buffer:
			known, ok := s.pair(x, b.Interface())
			if !ok {
				return path + ": another buffer than before: " + x.Name
			}
			if known {
				return ""
			}
		}
		return s.differ(path, a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			f := a.Type().Field(i).Name
			if f == "Name" && a.Type() == reflect.TypeFor[Buffer]() {
				continue
			}
			if d := s.differ(path+"."+f, a.Field(i), b.Field(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Slice:
		if a.Len() != b.Len() {
			return s.equal(path+" length", a.Len(), b.Len())
		}
		for i := range a.Len() {
			if d := s.differ(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Map:
		if a.Len() != b.Len() {
			return s.equal(path+" length", a.Len(), b.Len())
		}
		for _, k := range a.MapKeys() {
			other := k
			if v, ok := k.Interface().(*Var); ok {
				if s.there[v] == nil {
					return path + ": a key is no parameter: " + v.Name
				}
				other = reflect.ValueOf(s.there[v])
			}
			if d := s.differ(fmt.Sprintf("%s[%v]", path, k), a.MapIndex(k), b.MapIndex(other)); d != "" {
				return d
			}
		}
		return ""
	case reflect.Float64:
		return s.equal(path, math.Float64bits(a.Float()), math.Float64bits(b.Float()))
	}
	return s.equal(path, a.Interface(), b.Interface())
}

func (s *sameness) equal(path string, a, b any) string {
	if a != b {
		return fmt.Sprintf("%s: %v and %v", path, a, b)
	}
	return ""
}
