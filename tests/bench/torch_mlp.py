#!/usr/bin/env python3
"""The training steps of bench_mlp in PyTorch: the same cases, weights and inputs (the formula is in
support/mlp.h), so the same losses. Prints one JSON object.

    torch_mlp.py --case deep|wide|tiny|narrow|mnistfc [--threads N] [--steps N] [--warmup N]

Set the environment as compare_torch.py does for figures worth comparing with.
"""
import argparse
import json
import math
import resource
import statistics
import time

import numpy as np
import torch
from torch import nn

SEED = 0x5EED

# inputs, width, hidden layers, outputs, batch, learning rate
CASES = {
    "deep": (512, 512, 64, 10, 256, 1e-4),
    "wide": (4096, 4096, 3, 4096, 128, 1e-2),
    "tiny": (784, 128, 1, 10, 32, 1e-2),
    "narrow": (32, 32, 1000, 10, 8, 1e-4),
    "mnistfc": (784, 500, 1, 10, 500, 1e-3),
}


class Numbers:
    """Hands out tensors; each has the next number in the formula."""

    def __init__(self):
        self.tensor = 0

    def unit(self, *shape):
        """Uniform in [0, 1)."""
        element = np.arange(1, math.prod(shape) + 1, dtype=np.uint64)
        z = np.uint64(SEED + (self.tensor << 32)) + element * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
        self.tensor += 1
        return ((z >> np.uint64(40)).astype(np.float32) * np.float32(2**-24)).reshape(shape)

    def symmetric(self, scale, *shape):
        """Uniform in [-scale, scale)."""
        return torch.from_numpy((2 * self.unit(*shape) - np.float32(1)) * np.float32(scale))

    def labels(self, count, classes):
        drawn = np.floor(self.unit(count) * np.float32(classes)).astype(np.int64)
        return torch.from_numpy(np.minimum(drawn, classes - 1))


def make_step(case):
    """Returns a function that makes one training step and returns the loss."""
    inputs, width, hidden, outputs, batch, rate = CASES[case]
    sizes = [inputs] + [width] * hidden + [outputs]
    numbers = Numbers()
    layers = []
    for fan_in, fan_out in zip(sizes, sizes[1:]):
        layer = nn.Linear(fan_in, fan_out)
        with torch.no_grad():
            layer.weight.copy_(numbers.symmetric(math.sqrt(6 / fan_in), fan_out, fan_in))
            layer.bias.zero_()
        numbers.tensor += 1  # the bias has a number too
        layers += [layer, nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    x = numbers.symmetric(1, batch, inputs)
    if case == "wide":
        y, loss_of = numbers.symmetric(1, batch, outputs), nn.functional.mse_loss
    else:
        y, loss_of = numbers.labels(batch, outputs), nn.functional.cross_entropy
    optimizer_of = torch.optim.AdamW if case == "mnistfc" else torch.optim.SGD
    optimizer = optimizer_of(model.parameters(), lr=rate)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--case", choices=sorted(CASES), required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warmup", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    step = make_step(args.case)
    losses, ms, cpu_ms, faults = [], [], [], []
    for _ in range(args.warmup + args.steps):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        began, cpu_began = time.perf_counter(), time.process_time()
        losses.append(step())
        ms.append((time.perf_counter() - began) * 1e3)
        cpu_ms.append((time.process_time() - cpu_began) * 1e3)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    ms, cpu_ms, faults = (samples[args.warmup :] for samples in (ms, cpu_ms, faults))
    print(
        json.dumps(
            {
                "bench": "torch_mlp",
                "case": args.case,
                "threads": args.threads,
                "steps": args.steps,
                "median_ms": statistics.median(ms),
                "min_ms": min(ms),
                "max_ms": max(ms),
                "cpu_ms": statistics.median(cpu_ms),
                "loss_first": float(losses[0]),
                "loss_last": float(losses[-1]),
                "faults_per_step": statistics.median(faults),
                "peak_resident_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                "torch": torch.__version__,
            }
        )
    )


main()
