"""Draws programs with TVM's MetaSchedule and writes them with TVM's per-store features, as `dietcode features --check` reads them.

    python3 -m venv venv
    venv/bin/pip install apache-tvm==0.27.0.post1 apache-tvm-ffi==0.1.14 psutil
    venv/bin/python tvm_programs.py --seed 1 --of-each 2 -o programs.json [WORKLOAD…]
    dietcode features --check programs.json

Newer versions of apache-tvm-ffi abort in the extractor of 0.27. Depthwise convolutions are left out: both of their tensors have one
name, and TVM sorts tensors of one name by their address.
"""

import argparse
import json
import random
import sys

import tvm
from tvm import te
from tvm.s_tir import meta_schedule as ms
from tvm.s_tir.meta_schedule.feature_extractor import PerStoreFeature
from tvm.s_tir.meta_schedule.testing import te_workload
from tvm.s_tir.schedule import Trace
from tvm.target import Target

ATTEMPTS = 60


def dense_nt(m, n, k):
    x = te.placeholder((m, k), name="X")
    w = te.placeholder((n, k), name="W")
    along = te.reduce_axis((0, k), name="k")
    return [x, w, te.compute((m, n), lambda i, j: te.sum(x[i, along] * w[j, along], axis=along), name="Y")]


def dense_nt_relu(m, n, k):
    x, w, y = dense_nt(m, n, k)
    bias = te.placeholder((n,), name="bias")
    zero = tvm.tirx.const(0, "float32")
    return [x, w, bias, te.compute((m, n), lambda i, j: tvm.tirx.max(y[i, j] + bias[j], zero), name="Z")]


def batch_matmul(b, m, n, k, transposed):
    x = te.placeholder((b, m, k), name="X")
    w = te.placeholder((b, n, k) if transposed else (b, k, n), name="W")
    along = te.reduce_axis((0, k), name="k")
    factor = (lambda b, j: w[b, j, along]) if transposed else (lambda b, j: w[b, along, j])
    return [x, w, te.compute((b, m, n), lambda b, i, j: te.sum(x[b, i, along] * factor(b, j), axis=along), name="Y")]


def sum_of_rows(m, k):
    x = te.placeholder((m, k), name="X")
    along = te.reduce_axis((0, k), name="k")
    return [x, te.compute((m,), lambda i: te.sum(x[i, along], axis=along), name="Y")]


def exp(m, n):
    x = te.placeholder((m, n), name="X")
    return [x, te.compute((m, n), lambda i, j: tvm.tirx.exp(x[i, j]) * 2.0 + 1.0, name="Y")]


WORKLOADS = {
    "dense_nt": lambda r: dense_nt(r.choice([1, 13, 16, 96, 1600]), r.choice([61, 64, 768, 2304]), r.choice([37, 768])),
    "dense_nt_relu": lambda r: dense_nt_relu(r.choice([16, 128]), r.choice([64, 768]), r.choice([64, 768])),
    "batch_matmul_nn": lambda r: batch_matmul(r.choice([7, 12, 192]), r.choice([24, 43, 128]), 64, r.choice([24, 62]), False),
    "batch_matmul_nt": lambda r: batch_matmul(r.choice([7, 12, 192]), r.choice([24, 43, 128]), r.choice([24, 62]), 64, True),
    "sum_of_rows": lambda r: sum_of_rows(r.choice([3, 16, 128]), r.choice([1000, 4096])),
    "exp": lambda r: exp(r.choice([16, 128, 1000]), r.choice([64, 768])),
    "conv1d_nlc": lambda r: te_workload.conv1d_nlc(1, 64, r.choice([32, 64]), r.choice([64, 128]), 3, 2, 1),
    "conv2d_nhwc": lambda r: te_workload.conv2d_nhwc(1, r.choice([14, 28]), 28, r.choice([16, 64]), 32, 3, 1, 1),
    "conv2d_nhwc, dilated": lambda r: te_workload.conv2d_nhwc(1, 28, 28, r.choice([16, 64]), 32, 3, 1, 2, 2),
    "conv2d_transpose_nhwc": lambda r: te_workload.conv2d_transpose_nhwc(1, 4, 4, 64, 32, 4, 2, 1),
    "conv2d_nhwc_bn_relu": lambda r: te_workload.conv2d_nhwc_bn_relu(1, 28, 28, r.choice([16, 32]), 32, 3, 1, 1),
    "conv3d_ndhwc": lambda r: te_workload.conv3d_ndhwc(1, 8, 14, 14, 16, 32, 3, 1, 1),
    "transpose_batch_matmul": lambda r: te_workload.transpose_batch_matmul(1, r.choice([64, 128]), 12, 64),
    "softmax": lambda r: te_workload.softmax_mn(r.choice([64, 256]), r.choice([64, 256])),
    "norm": lambda r: te_workload.norm_bmn(r.choice([1, 4]), r.choice([64, 256]), r.choice([64, 256])),
}

TARGETS = {"llvm": {"kind": "llvm", "num-cores": 32}, "cuda": "nvidia/nvidia-a100"}


def draw(workload, target, r):
    """A record, or None if no decisions that were drawn are valid on the target."""
    module = tvm.IRModule({"main": te.create_prim_func(WORKLOADS[workload](r))})
    postprocs = ms.Postproc.create(target)
    space = ms.space_generator.PostOrderApply(
        sch_rules=ms.ScheduleRule.create(target), postprocs=postprocs, mutator_probs={}
    )
    context = ms.TuneContext(
        mod=module,
        target=Target(TARGETS[target]),
        task_name="main",
        rand_state=r.randrange(1, 2**30),
        space_generator=space,
        num_threads=1,
    )
    sketches = list(context.generate_design_space())
    for _ in range(ATTEMPTS):
        schedule = tvm.s_tir.Schedule(module, seed=r.randrange(1, 2**30))
        Trace(r.choice(sketches).trace.insts, {}).apply_to_schedule(schedule, remove_postproc=True)
        schedule.enter_postproc()
        if all([postproc.apply(schedule) for postproc in postprocs]):
            features = PerStoreFeature().extract_from(context, [ms.MeasureCandidate(schedule, [])])[0].numpy()
            lines = [line for line in schedule.mod.script().split("\n") if line.strip() and not line.startswith("#")]
            rows = [[float(f"{x:.8g}") for x in row] for row in features.tolist()]
            return {"workload": workload, "target": target, "tir": lines, "features": rows}
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", help=", ".join(WORKLOADS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of-each", type=int, default=1, help="programs for each workload and target")
    parser.add_argument("-o", "--output", required=True)
    arguments = parser.parse_args()
    r = random.Random(arguments.seed)
    records = []
    for target in TARGETS:
        for workload in arguments.workloads or WORKLOADS:
            for _ in range(arguments.of_each):
                record = draw(workload, target, r)
                if record is None:
                    print(f"{workload} for {target}: none of {ATTEMPTS} draws is valid", file=sys.stderr)
                else:
                    records.append(record)
    with open(arguments.output, "w") as file:
        json.dump(records, file)
    print(f"{len(records)} programs in {arguments.output}")


if __name__ == "__main__":
    main()
