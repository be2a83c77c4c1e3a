/* C++17 classes over the classic C ABI: load a module, call its functions, work with tensors. Header only; link with
 * -ltvmgo.
 *
 *   auto module = tvmgo::Module::load("add.so");
 *   auto a = tvmgo::Tensor::from(std::vector<float>{1, 2, 3}), c = tvmgo::Tensor::empty<float>({3});
 *   module.get("add")(a, a, c);
 *   std::vector<float> sum = c.to_vector<float>();
 *
 * Include this header. The headers below are its parts: each compiles by itself, but a class may declare functions
 * that a later part defines. Namespace tvmgo::detail is not part of the API.
 *
 * Conventions, unless a comment says otherwise
 *   - A function that fails throws tvmgo::Error. No exception reaches C code: if a callback throws, the C caller gets
 *     an error, and a C++ caller gets it as an Error again.
 *   - Tensor, Module, Function and Object are counted references: a copy is a second reference to the same object, a
 *     moved-from variable is empty. Several threads may use the object at a time; for one variable, the rules of
 *     std::shared_ptr apply.
 *   - Arguments are borrowed for the call. Pointers and Spans that a method returns are valid as long as its object.
 *   - Shapes and strides count elements. The headers define no macros except their include guards. */
#ifndef TVMGO_TVMGO_HPP_
#define TVMGO_TVMGO_HPP_

#include <tvmgo/error.hpp>     /* Error */
#include <tvmgo/data_type.hpp> /* DataType */
#include <tvmgo/device.hpp>    /* Device */
#include <tvmgo/stream.hpp>    /* Stream */
#include <tvmgo/ref.hpp>       /* Object */
#include <tvmgo/tensor.hpp>    /* Tensor, Shape, Span */
#include <tvmgo/function.hpp>  /* Function */
#include <tvmgo/module.hpp>    /* Module */
#include <tvmgo/packed.hpp>    /* Bytes */
#include <tvmgo/value.hpp>     /* Value, ArgView, Args */
#include <tvmgo/call.hpp>      /* the functions that need all of the above */
#include <tvmgo/container.hpp> /* Array, Map */
#include <tvmgo/model.hpp>     /* Model */

#endif  // TVMGO_TVMGO_HPP_
