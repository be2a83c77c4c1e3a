package onnx

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"tvmgo/graph"
	"tvmgo/graph/onnx/file"
	"tvmgo/tir"
)

// rule converts a node of an operator.
type rule func(c *conv) error

// rules are the operators that are read, by domain and name (functionKey).
var rules = map[string]rule{}

// Operators returns the names of the operators of the default domain that are read, sorted.
func Operators() []string {
	var names []string
	for key := range rules {
		if name, ok := strings.CutPrefix(key, functionKey("", "")); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func add(op string, r rule) { rules[functionKey("", op)] = r }

// same is the rule for an operator that package operators has with the same operands and attributes.
func same(op string) rule {
	return func(c *conv) error {
		o := graph.LookupOp(op)
		attrs, err := c.graphAttrs(o)
		if err != nil {
			return err
		}
		return c.result(op, attrs, c.in...)
	}
}

// mostOperands is the number of operands up to which a node has them all.
const mostOperands = 64

// tree is the rule for an operator on any number of operands: many are combined in groups, and then their results.
func tree(op string) rule {
	return func(c *conv) error {
		attrs, err := c.graphAttrs(graph.LookupOp(op))
		if err != nil {
			return err
		}
		in := c.in
		for len(in) > mostOperands {
			var next []*graph.Value
			for part := range slices.Chunk(in, mostOperands) {
				v, err := c.add(op, attrs, part...)
				if err != nil {
					return err
				}
				next = append(next, v)
			}
			in = next
		}
		return c.result(op, attrs, in...)
	}
}

// mean is the sum of many operands, divided by their number; few are one node.
func mean(c *conv) error {
	if len(c.in) <= mostOperands {
		return same("mean")(c)
	}
	var sums []*graph.Value
	n, err := c.number(c.in[0].DType, float64(len(c.in)))
	if err != nil {
		return c.fail("%w", err)
	}
	for part := range slices.Chunk(c.in, mostOperands) {
		v, err := c.add("sum", nil, part...)
		if err != nil {
			return err
		}
		sums = append(sums, v)
	}
	for len(sums) > 1 {
		v, err := c.add("sum", nil, sums[:min(len(sums), mostOperands)]...)
		if err != nil {
			return err
		}
		sums = append([]*graph.Value{v}, sums[min(len(sums), mostOperands):]...)
	}
	return c.result("div", nil, sums[0], n)
}

// axesRule is the rule for an operator whose axes are an attribute in old operator sets.
func intsOperand(op string, names ...string) rule {
	return func(c *conv) error {
		in := c.in
		for k, name := range names {
			if name == "" {
				continue
			}
			if a := c.attrs[name]; a != nil {
				for len(in) <= k {
					in = append(in, nil)
				}
				in[k] = c.scope.fn.Ints(name, a.Ints...)
			}
		}
		attrs, err := c.graphAttrs(graph.LookupOp(op), names...)
		if err != nil {
			return err
		}
		return c.result(op, attrs, in...)
	}
}

// number makes a constant of one number without dimensions.
func (c *conv) number(t tir.Type, v float64) (*graph.Value, error) {
	return c.scope.fn.Scalar(t, v)
}

func init() {
	for name, op := range map[string]string{
		"Abs": "abs", "Acos": "acos", "Acosh": "acosh", "ArgMax": "arg_max", "ArgMin": "arg_min",
		"Asin": "asin", "Asinh": "asinh", "Atan": "atan", "Atanh": "atanh", "BitShift": "bit_shift",
		"BitwiseAnd": "bitwise_and", "BitwiseNot": "bitwise_not", "BitwiseOr": "bitwise_or", "BitwiseXor": "bitwise_xor",
		"Cast": "cast", "CastLike": "cast_like", "Ceil": "ceil", "Celu": "celu", "Cos": "cos",
		"Cosh": "cosh", "Elu": "elu", "Erf": "erf", "Exp": "exp", "Expand": "expand",
		"Flatten": "flatten", "Floor": "floor", "Gather": "gather", "GatherElements": "gather_elements", "Gelu": "gelu",
		"GreaterOrEqual": "greater_or_equal", "HardSigmoid": "hard_sigmoid",
		"HardSwish": "hard_swish", "Identity": "identity", "IsInf": "is_inf", "IsNaN": "is_nan", "LeakyRelu": "leaky_relu",
		"LessOrEqual": "less_or_equal", "Log": "log", "MatMul": "matmul", "Mish": "mish", "Mod": "mod",
		"Neg": "neg", "Not": "not", "OneHot": "one_hot",
		"Range": "range", "Reciprocal": "reciprocal", "Relu": "relu", "Reshape": "reshape",
		"Round": "round", "Selu": "selu", "Shape": "shape", "Shrink": "shrink", "Sigmoid": "sigmoid", "Sign": "sign",
		"Sin": "sin", "Sinh": "sinh", "Size": "size", "Softplus": "softplus", "Softsign": "softsign", "Sqrt": "sqrt",
		"Swish": "swish", "Tan": "tan", "Tanh": "tanh", "ThresholdedRelu": "thresholded_relu",
		"Tile": "tile", "Transpose": "transpose", "Where": "where",
	} {
		add(name, same(op))
	}
	for name, op := range map[string]string{"AveragePool": "average_pool", "Conv": "conv",
		"ConvTranspose":     "conv_transpose",
		"GlobalAveragePool": "global_average_pool", "GlobalLpPool": "global_lp_pool", "GlobalMaxPool": "global_max_pool",
		"InstanceNormalization": "instance_normalization", "LayerNormalization": "layer_normalization",
		"Attention": "attention", "EyeLike": "eye_like", "LRN": "lrn",
		"LpNormalization": "lp_normalization", "MeanVarianceNormalization": "mean_variance_normalization",
		"ReverseSequence": "reverse_sequence", "Trilu": "trilu", "BitCast": "bit_cast", "GridSample": "grid_sample",
		"AffineGrid": "affine_grid", "DepthToSpace": "depth_to_space", "SpaceToDepth": "space_to_depth", "Col2Im": "col2im",
		"DeformConv": "deform_conv", "STFT": "stft", "HannWindow": "hann_window", "HammingWindow": "hamming_window",
		"BlackmanWindow": "blackman_window", "CumSum": "cum_sum", "CumProd": "cum_prod",
		"Einsum": "einsum", "Det": "det", "RNN": "rnn", "GRU": "gru", "LSTM": "lstm", "QuantizeLinear": "quantize_linear",
		"DequantizeLinear": "dequantize_linear", "DynamicQuantizeLinear": "dynamic_quantize_linear",
		"MatMulInteger": "matmul_integer", "QLinearMatMul": "qlinear_matmul", "QLinearConv": "qlinear_conv",
		"ConvInteger": "conv_integer", "RotaryEmbedding": "rotary_embedding", "Scatter": "scatter_elements",
		"ScatterElements": "scatter_elements", "ScatterND": "scatter_nd", "GatherND": "gather_nd",
		"TensorScatter": "tensor_scatter", "CenterCropPad": "center_crop_pad", "LpPool": "lp_pool",
		"MaxPool": "max_pool", "RMSNormalization": "rms_normalization"} {
		add(name, same(op))
	}
	for name, op := range map[string]string{"ReduceL1": "reduce_l1", "ReduceL2": "reduce_l2",
		"ReduceLogSum": "reduce_log_sum", "ReduceLogSumExp": "reduce_log_sum_exp",
		"ReduceMax": "reduce_max", "ReduceMean": "reduce_mean",
		"ReduceMin": "reduce_min", "ReduceProd": "reduce_prod", "ReduceSum": "reduce_sum",
		"ReduceSumSquare": "reduce_sum_square", "Squeeze": "squeeze", "Unsqueeze": "unsqueeze", "Split": "split"} {
		operand := "axes"
		if name == "Split" {
			operand = "split"
		}
		add(name, intsOperand(op, "", operand))
	}
	for name, op := range map[string]string{"Concat": "concat", "Max": "max", "Min": "min", "Sum": "sum"} {
		add(name, tree(op))
	}
	add("Mean", mean)
	add("Slice", intsOperand("slice", "", "starts", "ends", "axes"))
	add("Softmax", softmax("softmax"))
	add("LogSoftmax", softmax("log_softmax"))
	add("Hardmax", softmax("hardmax"))
	add("Clip", clip)
	add("Constant", constant)
	add("ConstantOfShape", constantOfShape)
	add("Dropout", dropout)
	add("Pad", pad)
	add("RoiAlign", func(c *conv) error {
		attrs, err := c.graphAttrs(graph.LookupOp("roi_align"))
		if err != nil {
			return err
		}
		if c.opset < 16 { // which had no such attribute
			attrs["coordinate_transformation_mode"] = "output_half_pixel"
		}
		return c.result("roi_align", attrs, c.in...)
	})
	add("Resize", resize)
	add("Upsample", upsample)
	add("BatchNormalization", batchNormalization)
	add("GroupNormalization", groupNormalization)
}

// softmax normalizes all dimensions from the axis on before operator set 13, and later only the axis.
func softmax(op string) rule {
	return func(c *conv) error {
		if c.opset >= 13 {
			return same(op)(c)
		}
		axis := c.integer("axis", 1)
		flat, err := c.add("flatten", graph.Attrs{"axis": axis}, c.in[0])
		if err != nil {
			return err
		}
		out, err := c.add(op, graph.Attrs{"axis": int64(-1)}, flat)
		if err != nil {
			return err
		}
		shape, err := c.add("shape", nil, c.in[0])
		if err != nil {
			return err
		}
		return c.result("reshape", graph.Attrs{"allowzero": int64(1)}, out, shape)
	}
}

// clip has its bounds as attributes before operator set 11.
func clip(c *conv) error {
	in := c.operands(3)
	for k, name := range []string{"", "min", "max"} {
		if a := c.attrs[name]; a != nil && name != "" {
			v, err := c.number(in[0].DType, float64(a.Float))
			if err != nil {
				return c.fail("%w", err)
			}
			in[k] = v
		}
	}
	return c.result("clip", nil, in...)
}

func constant(c *conv) error {
	var v *graph.Value
	var err error
	fn, name := c.scope.fn, c.node.Outputs[0]
	for kind, a := range c.attrs {
		switch kind {
		case "value":
			v, err = c.constant(c.scope, name, a.Tensor)
		case "sparse_value":
			var dense *file.Tensor
			if dense, err = a.SparseTensor.Dense(c.external); err == nil {
				v, err = c.constant(c.scope, name, dense)
			}
		case "value_int":
			v, err = fn.Const(name, tir.Int64, nil, binary.LittleEndian.AppendUint64(nil, uint64(a.Int)))
		case "value_ints":
			v = fn.Ints(name, a.Ints...)
		case "value_float":
			v, err = fn.Const(name, tir.Float32, nil, binary.LittleEndian.AppendUint32(nil, math.Float32bits(a.Float)))
		case "value_floats":
			v, err = c.floats(name, a.Floats...)
		default:
			return c.fail("attribute %q is not supported: want a tensor or numbers", kind)
		}
	}
	if err != nil {
		return c.fail("%w", err)
	}
	if v == nil {
		return c.fail("the constant has no value")
	}
	c.bind([]*graph.Value{v})
	return nil
}

func constantOfShape(c *conv) error {
	var v *graph.Value
	var err error
	if a := c.attrs["value"]; a != nil && a.Tensor != nil {
		v, err = c.constant(c.scope, "value", a.Tensor)
	} else {
		v, err = c.number(tir.Float32, 0)
	}
	if err != nil {
		return c.fail("%w", err)
	}
	return c.result("constant_of_shape", nil, c.in[0], v)
}

// dropout has no effect on a model that is not trained; its mask is true everywhere.
func dropout(c *conv) error {
	if c.has(2) {
		if e := c.in[2].Elements(); e == nil {
			return c.fail("training_mode has to be a constant")
		} else if v, ok := tir.IntValue(e[0]); !ok || v != 0 {
			ratio := 0.5
			if c.has(1) {
				if r := c.in[1].Elements(); len(r) == 1 {
					if f, ok := r[0].(*tir.FloatImm); ok {
						ratio = f.Value
					}
				}
			}
			if ratio != 0 {
				return c.fail("dropout in training mode is not supported")
			}
		}
	}
	out, err := c.add("identity", nil, c.in[0])
	if err != nil {
		return err
	}
	outs := []*graph.Value{out}
	if len(c.node.Outputs) > 1 && c.node.Outputs[1] != "" {
		t, err := c.number(tir.Bool, 1)
		if err != nil {
			return c.fail("%w", err)
		}
		shape, err := c.add("shape", nil, c.in[0])
		if err != nil {
			return err
		}
		mask, err := c.add("constant_of_shape", nil, shape, t)
		if err != nil {
			return err
		}
		outs = append(outs, mask)
	}
	c.bind(outs)
	return nil
}

// batchNormalization uses the stored mean and variance, as models that are not trained do.
func batchNormalization(c *conv) error {
	if c.integer("training_mode", 0) != 0 {
		return c.fail("training_mode is set: export the model for inference")
	}
	attrs, err := c.graphAttrs(graph.LookupOp("batch_normalization"))
	if err != nil {
		return err
	}
	out, err := c.add("batch_normalization", attrs, c.operands(5)...)
	if err != nil {
		return err
	}
	c.bind([]*graph.Value{out})
	return nil
}

// groupNormalization has a scale and a bias per group before operator set 21, and later per channel.
func groupNormalization(c *conv) error {
	in := c.operands(3)
	if c.opset < 21 {
		groups := c.integer("num_groups", 1)
		channels, ok := tir.IntValue(in[0].Shape[1])
		if !ok || groups < 1 || channels%groups != 0 {
			return c.fail("the number of channels is not a multiple of %d groups", groups)
		}
		var of []int64
		for k := range channels {
			of = append(of, k/(channels/groups))
		}
		index := c.scope.fn.Ints("group", of...)
		for k := 1; k < 3; k++ {
			v, err := c.add("gather", nil, in[k], index)
			if err != nil {
				return err
			}
			in[k] = v
		}
	}
	attrs, err := c.graphAttrs(graph.LookupOp("group_normalization"))
	if err != nil {
		return err
	}
	return c.result("group_normalization", attrs, in...)
}

// pad has its pads and its value as attributes before operator set 11.
func pad(c *conv) error {
	in := c.operands(4)
	if a := c.attrs["pads"]; a != nil {
		in[1] = c.scope.fn.Ints("pads", a.Ints...)
		value := 0.0
		if v := c.attrs["value"]; v != nil {
			value = float64(v.Float)
		}
		v, err := c.number(in[0].DType, value)
		if err != nil {
			return c.fail("%w", err)
		}
		in[2] = v
	}
	attrs, err := c.graphAttrs(graph.LookupOp("pad"), "pads", "value")
	if err != nil {
		return err
	}
	return c.result("pad", attrs, in...)
}

// resize has the operands data and scales in operator set 10.
func resize(c *conv) error {
	if c.opset == 10 {
		return c.result("resize", graph.Attrs{"mode": c.text("mode", "nearest"),
			"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, c.in[0], nil, c.in[1])
	}
	attrs, err := c.graphAttrs(graph.LookupOp("resize"))
	if err != nil {
		return err
	}
	in := c.operands(4)
	for k, v := range in { // an empty tensor stands for one that is left out
		if v != nil && len(v.Shape) == 1 {
			if n, ok := tir.IntValue(v.Shape[0]); ok && n == 0 {
				in[k] = nil
			}
		}
	}
	return c.result("resize", attrs, in...)
}

// upsample is the resize of operator sets up to 9. Scales are an attribute in sets 7 and 8.
func upsample(c *conv) error {
	scales := c.operand(1)
	if a := c.attrs["scales"]; a != nil {
		var err error
		if scales, err = c.floats("scales", a.Floats...); err != nil {
			return c.fail("%w", err)
		}
	}
	return c.result("resize", graph.Attrs{"mode": c.text("mode", "nearest"),
		"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, c.in[0], nil, scales)
}
