#!/usr/bin/env python3
"""Writes tests/data/op_golden.txt: results and gradients of every operation, made by PyTorch.

    python3 tests/golden/make_op_golden.py tests/data/op_golden.txt

Needs PyTorch (Debian: python3-torch; the committed file is by 1.13). The tests read only the file.
Each case has the name of a row of the conformance table (tests/support/op_cases_*.c), which
records the same operation with remat: two definitions, written apart, that must agree.

Everything is computed in float64. Inputs and upstream gradients are odd multiples of 1/128, so
they are exact in float32 too, and no input is 0, where relu has its kink.
"""

import sys

import torch
import torch.nn.functional as F

torch.manual_seed(20)
torch.set_num_threads(1)
CASES = []


def case(name, function, *leaves):
    """leaves: tensors; the floating ones get gradients. function returns one or more results, the
    first of which gets an upstream gradient."""
    CASES.append((name, function, leaves))


def dyadic(*shape, low=-2.0, high=2.0):
    first, last = int(low * 64), int(high * 64)
    return (2 * torch.randint(first, last, shape) + 1).double() / 128


def labels(*shape, classes, ignored=()):
    values = torch.randint(0, classes, shape)
    for row, label in ignored:
        values.view(-1)[row] = label
    return values


def products():
    def matmul(name, a, b, ta=False, tb=False):
        def function(x, y):
            x = x.transpose(-1, -2) if ta else x
            y = y.transpose(-1, -2) if tb else y
            return torch.matmul(x, y)

        case(name, function, dyadic(*a), dyadic(*b))

    matmul("matmul", (2, 3), (3, 4))
    matmul("matmul_ta", (3, 2), (3, 4), ta=True)
    matmul("matmul_tb", (2, 3), (4, 3), tb=True)
    matmul("matmul_ta_tb", (3, 2), (4, 3), ta=True, tb=True)
    matmul("matmul_one", (1, 1), (1, 1))
    matmul("matmul_row_column", (1, 5), (5, 1))
    matmul("matmul_column_row", (4, 1), (1, 3))
    matmul("matmul_batched", (2, 3, 4), (2, 4, 5))
    matmul("matmul_batched_ta", (2, 4, 3), (2, 4, 5), ta=True)
    matmul("matmul_batched_tb", (2, 3, 4), (2, 5, 4), tb=True)
    matmul("matmul_batched_ta_tb", (2, 4, 3), (2, 5, 4), ta=True, tb=True)
    matmul("matmul_shared_b", (2, 3, 4), (4, 5))
    matmul("matmul_shared_b_ta", (2, 4, 3), (4, 5), ta=True)
    matmul("matmul_shared_b_tb", (2, 3, 4), (5, 4), tb=True)
    matmul("matmul_shared_a", (3, 4), (2, 4, 5))
    matmul("matmul_shared_a_ta_tb", (4, 3), (2, 5, 4), ta=True, tb=True)
    matmul("matmul_broadcast_batch", (2, 1, 3, 4), (5, 4, 2))
    matmul("matmul_broadcast_both", (3, 1, 2, 4), (1, 2, 4, 3))
    matmul("matmul_broadcast_both_ta_tb", (3, 1, 4, 2), (1, 2, 3, 4), ta=True, tb=True)
    matmul("matmul_broadcast_one", (1, 2, 3), (4, 3, 2))

    case("linear", F.linear, dyadic(5, 3), dyadic(4, 3), dyadic(4))
    case("linear_no_bias", F.linear, dyadic(5, 3), dyadic(4, 3))
    case("linear_3d", F.linear, dyadic(2, 3, 5), dyadic(4, 5), dyadic(4))
    case("linear_3d_no_bias", F.linear, dyadic(2, 3, 5), dyadic(4, 5))
    case("linear_vector", F.linear, dyadic(3), dyadic(4, 3), dyadic(4))
    case("linear_one_out", F.linear, dyadic(6, 4), dyadic(1, 4), dyadic(1))
    case("linear_one_in", F.linear, dyadic(6, 1), dyadic(3, 1), dyadic(3))


def elementwise():
    pairs = {
        "same": ((3, 4), (3, 4)),
        "row": ((3, 4), (4,)),
        "column": ((3, 4), (3, 1)),
        "outer": ((3, 1), (1, 4)),
        "left": ((4,), (2, 3, 4)),
        "scalar": ((2, 3), ()),
        "scalar_left": ((), (2, 3)),
        "one": ((1,), (2, 3)),
        "middle": ((2, 3, 4), (2, 1, 4)),
        "mixed": ((2, 1, 4), (3, 1)),
        "scalars": ((), ()),
    }
    binary = {"add": torch.add, "subtract": torch.sub, "multiply": torch.mul, "divide": torch.div}
    for name, function in binary.items():
        for pair, (a, b) in pairs.items():
            low = 0.5 if name == "divide" else -2.0
            case(f"{name}_{pair}", function, dyadic(*a), dyadic(*b, low=low))

    unary = {
        "scale": (lambda x: x * -1.75, -2, 2),
        "negate": (torch.neg, -2, 2),
        "exp": (torch.exp, -2, 2),
        "log": (torch.log, 0.25, 3),
        "sqrt": (torch.sqrt, 0.25, 3),
        "square": (torch.square, -2, 2),
        "relu": (F.relu, -2, 2),
        "leaky_relu": (lambda x: F.leaky_relu(x, 0.01), -2, 2),
        "leaky_relu_steep": (lambda x: F.leaky_relu(x, 1.5), -2, 2),
        "leaky_relu_zero": (lambda x: F.leaky_relu(x, 0.0), -2, 2),
        "gelu": (F.gelu, -3, 3),
        "gelu_wide": (F.gelu, -40, 40),
        "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), -3, 3),
        "gelu_tanh_wide": (lambda x: F.gelu(x, approximate="tanh"), -40, 40),
        "silu": (F.silu, -3, 3),
        "silu_wide": (F.silu, -80, 80),
        "tanh": (torch.tanh, -3, 3),
        "tanh_wide": (torch.tanh, -80, 80),
        "tanh_small": (torch.tanh, -0.125, 0.125),
        "sigmoid": (torch.sigmoid, -3, 3),
        "sigmoid_wide": (torch.sigmoid, -80, 80),
    }
    for name, (function, low, high) in unary.items():
        case(name, function, dyadic(3, 7, low=low, high=high))
    case("exp_scalar", torch.exp, dyadic())


def rows():
    for name, function in (("softmax", torch.softmax), ("log_softmax", torch.log_softmax)):
        for axis, label in ((0, "0"), (1, "1"), (2, "2"), (-2, "minus_2")):
            case(f"{name}_axis_{label}", lambda x, f=function, a=axis: f(x, a), dyadic(2, 3, 4))
        case(f"{name}_wide", lambda x, f=function: f(x, -1), dyadic(3, 7, low=-300, high=300))
        case(f"{name}_vector", lambda x, f=function: f(x, 0), dyadic(6))
        case(f"{name}_one", lambda x, f=function: f(x, 1), dyadic(3, 1))

    def layer_norm(name, x, axes, weight=True, bias=True, epsilon=1e-5):
        leaves = [dyadic(*x)] + [dyadic(*axes)] * weight + [dyadic(*axes)] * bias

        def function(x, *affine):
            affine = list(affine)
            w = affine.pop(0) if weight else None
            b = affine.pop(0) if bias else None
            over = tuple(range(-len(axes), 0))
            mean = x.mean(over)
            rstd = (x.var(over, unbiased=False) + epsilon).rsqrt()
            return F.layer_norm(x, axes, w, b, epsilon), mean, rstd

        case(name, function, *leaves)

    layer_norm("layer_norm", (4, 6), (6,))
    layer_norm("layer_norm_weight", (4, 6), (6,), bias=False)
    layer_norm("layer_norm_bias", (4, 6), (6,), weight=False)
    layer_norm("layer_norm_plain", (4, 6), (6,), weight=False, bias=False)
    layer_norm("layer_norm_epsilon", (4, 6), (6,), epsilon=0.25)
    layer_norm("layer_norm_3d", (2, 3, 5), (5,))
    layer_norm("layer_norm_2_axes", (3, 2, 4), (2, 4))
    layer_norm("layer_norm_2_axes_weight", (3, 2, 4), (2, 4), bias=False)
    layer_norm("layer_norm_2_axes_bias", (3, 2, 4), (2, 4), weight=False)
    layer_norm("layer_norm_vector", (6,), (6,))
    layer_norm("layer_norm_all_axes", (2, 5), (2, 5))


def reductions():
    axes = {
        "0": (0,), "1": (1,), "2": (2,), "minus_1": (-1,), "0_1": (0, 1), "0_2": (0, 2),
        "1_2": (1, 2), "2_0": (2, 0), "0_1_2": (0, 1, 2),
    }
    for name in ("sum", "mean"):
        for label, over in axes.items():
            for keep in (False, True):
                suffix = "_keep" if keep else ""
                case(f"{name}_axes_{label}{suffix}",
                     lambda x, n=name, o=over, k=keep: getattr(x, n)(o, keepdim=k),
                     dyadic(2, 3, 4))
        case(f"{name}_all", lambda x, n=name: getattr(x, n)(), dyadic(3, 4))
        case(f"{name}_one", lambda x, n=name: getattr(x, n)(1), dyadic(3, 1))
        case(f"{name}_4d", lambda x, n=name: getattr(x, n)((1, 3)), dyadic(2, 3, 2, 3))


def shapes():
    case("reshape", lambda x: x.reshape(3, 4), dyadic(2, 6))
    case("reshape_infer", lambda x: x.reshape(-1, 2), dyadic(2, 3, 4))
    case("reshape_scalar", lambda x: x.reshape(()), dyadic(1, 1))
    case("permute_2_0_1", lambda x: x.permute(2, 0, 1), dyadic(2, 3, 4))
    case("permute_1_0_2", lambda x: x.permute(1, 0, 2), dyadic(2, 3, 4))
    case("permute_0_2_1", lambda x: x.permute(0, 2, 1), dyadic(2, 3, 4))
    case("permute_identity", lambda x: x.permute(0, 1, 2), dyadic(2, 3, 4))
    case("permute_heads", lambda x: x.permute(0, 2, 1, 3), dyadic(2, 3, 2, 4))
    case("permute_reverse", lambda x: x.permute(3, 2, 1, 0), dyadic(2, 3, 2, 4))
    case("transpose", lambda x: x.transpose(0, 1), dyadic(3, 5))
    case("transpose_last", lambda x: x.transpose(-1, -2), dyadic(2, 3, 4))
    case("transpose_outer", lambda x: x.transpose(0, 2), dyadic(2, 3, 4))
    case("detach", lambda x: x.detach(), dyadic(2, 3))


def losses():
    def cross_entropy(name, logits, target, **options):
        def function(x, y):
            # PyTorch wants the classes on axis 1, remat on the last axis.
            if x.dim() == 3:
                x = x.permute(0, 2, 1)
            return F.cross_entropy(x, y, **options)

        case(name, function, logits, target)

    for reduction in ("mean", "sum"):
        for smoothing in (0.0, 0.25):
            for ignored in ((), ((1, -100), (3, -100)), ((2, 3),)):
                name = "cross_entropy_" + reduction
                name += "_smooth" if smoothing else ""
                name += {0: "", 2: "_ignore", 1: "_ignore_class"}[len(ignored)]
                options = {"reduction": reduction, "label_smoothing": smoothing}
                if ignored:
                    options["ignore_index"] = ignored[0][1]
                cross_entropy(name, dyadic(4, 5),
                              labels(4, classes=3, ignored=ignored), **options)
        cross_entropy(f"cross_entropy_3d_{reduction}", dyadic(2, 3, 5), labels(2, 3, classes=5),
                      reduction=reduction)
    cross_entropy("cross_entropy_3d_smooth_ignore", dyadic(2, 3, 5),
                  labels(2, 3, classes=5, ignored=((4, -7),)), label_smoothing=0.25,
                  ignore_index=-7)
    cross_entropy("cross_entropy_vector", dyadic(5), labels(classes=5))
    cross_entropy("cross_entropy_one_class", dyadic(3, 1), labels(3, classes=1))
    cross_entropy("cross_entropy_wide", dyadic(4, 5, low=-300, high=300), labels(4, classes=5))
    for reduction in ("mean", "sum"):
        case(f"mse_{reduction}", lambda p, t, r=reduction: F.mse_loss(p, t, reduction=r),
             dyadic(3, 4), dyadic(3, 4))
    case("mse_scalar", lambda p, t: F.mse_loss(p, t), dyadic(), dyadic())


def write_tensor(out, role, tensor):
    kind = "float" if tensor.is_floating_point() else "i32"
    shape = "x".join(str(n) for n in tensor.shape) or "scalar"
    out.write(f"{role} {kind} {shape}\n")
    line = ""
    for value in tensor.reshape(-1).tolist():
        word = repr(value)
        if line and len(line) + len(word) > 98:
            out.write(line + "\n")
            line = ""
        line += " " + word
    out.write(line + "\n")


def write_case(out, name, function, leaves):
    leaves = [x.requires_grad_() if x.is_floating_point() else x for x in leaves]
    results = function(*leaves)
    results = results if isinstance(results, tuple) else (results,)
    upstream = dyadic(*results[0].shape)
    if results[0].requires_grad:
        results[0].backward(upstream)
    out.write(f"\ncase {name}\n")
    for i, leaf in enumerate(leaves):
        write_tensor(out, f"leaf{i}", leaf.detach())
    for i, result in enumerate(results):
        write_tensor(out, f"result{i}", result.detach())
    if results[0].requires_grad:
        write_tensor(out, "upstream0", upstream)
    for i, leaf in enumerate(leaves):
        if leaf.grad is not None:
            write_tensor(out, f"gradient{i}", leaf.grad)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for family in (products, elementwise, rows, reductions, shapes, losses):
        family()
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write(f"# Golden values of operations by PyTorch {torch.__version__.split('a')[0]} "
                  "in float64, made by\n# tests/golden/make_op_golden.py. Format:\n"
                  "#   case NAME               a row of the conformance table\n"
                  "#   ROLE KIND SHAPE         then the elements in C order\n"
                  "# ROLE: leaf, result, upstream (gradient of a result), gradient (of a leaf), and "
                  "a number.\n# KIND: float or i32. SHAPE: 2x3x4 or scalar.\n")
        for name, function, leaves in CASES:
            write_case(out, name, function, leaves)


if __name__ == "__main__":
    main()
