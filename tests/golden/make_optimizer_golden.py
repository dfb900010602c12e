#!/usr/bin/env python3
"""Writes tests/data/optimizer_golden.txt: parameters after each of several steps, by PyTorch.

    python3 tests/golden/make_optimizer_golden.py tests/data/optimizer_golden.txt

Needs PyTorch (Debian: python3-torch; the committed file is by 1.13). The tests read only the file.
Everything is computed in float64; initial values and gradients are odd multiples of 1/128, so they
are exact in float32 too.
"""

import sys

import torch

ELEMENTS = 5
STEPS = 6

CASES = [
    ("sgd", dict(lr=0.125)),
    ("sgd", dict(lr=0.1, weight_decay=0.05)),
    ("sgd", dict(lr=0.1, momentum=0.9)),
    ("sgd", dict(lr=0.1, momentum=0.9, weight_decay=0.01)),
    ("sgd", dict(lr=0.1, momentum=0.8, nesterov=True)),
    ("sgd", dict(lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.02)),
    ("adam", dict(lr=0.001, betas=(0.9, 0.999), eps=1e-8)),
    ("adam", dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.1)),
    ("adam", dict(lr=0.02, betas=(0.0, 0.5), eps=1e-8)),
    ("adamw", dict(lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01)),
    ("adamw", dict(lr=0.02, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.5)),
]
OPTIMIZERS = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def dyadic():
    return (2 * torch.randint(-128, 128, (ELEMENTS,)) + 1).double() / 128


def row(tensor):
    return " ".join(repr(float(x)) for x in tensor)


def write_case(out, kind, options):
    beta1, beta2 = options.get("betas", (0.9, 0.999))
    print(
        "case", kind, options["lr"], options.get("momentum", 0.0),
        options.get("weight_decay", 0.0), int(options.get("nesterov", False)),
        beta1, beta2, options.get("eps", 1e-8), file=out,
    )
    parameter = torch.nn.Parameter(dyadic())
    print(row(parameter), file=out)
    optimizer = OPTIMIZERS[kind]([parameter], **options)
    for _ in range(STEPS):
        parameter.grad = dyadic()
        print(row(parameter.grad), file=out)
        optimizer.step()
        print(row(parameter), file=out)


def main(path):
    torch.manual_seed(4)
    with open(path, "w", encoding="ascii") as out:
        print(f"# Steps of optimizers by PyTorch {torch.__version__} in float64, made by", file=out)
        print("# tests/golden/make_optimizer_golden.py. Format:", file=out)
        print("#   case KIND lr momentum weight_decay nesterov beta1 beta2 epsilon", file=out)
        print(f"#   the {ELEMENTS} initial parameters; then, {STEPS} times, a line of gradients and",
              file=out)
        print("#   a line of the parameters after the step", file=out)
        for kind, options in CASES:
            write_case(out, kind, options)


main(sys.argv[1])
