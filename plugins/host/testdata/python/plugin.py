#!/usr/bin/env python3
"""A plugin in Python: nearest mean, with noise that a parameter sets. plugin_pb2.py: protoc --python_out=. plugin.proto"""
import mmap
import os
from concurrent import futures

import grpc
import numpy as np
import plugin_pb2 as pb

mapped = {}  # memory files by descriptor


def table(t):
    descriptor = 5 if t.place == pb.Table.PLACE_DATASET else 4
    memory = mapped[descriptor] = mapped.get(descriptor) or mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    x = np.frombuffer(memory, "<f8", t.rows * t.dim, t.offset + t.x_at).reshape(t.rows, t.dim)
    return x, np.frombuffer(memory, "<f8", t.rows, t.offset + t.y_at) if t.y_at else None


def describe(_request, _context):
    noise = pb.Parameter(name="noise", default=pb.Value(float=0.0), min=0.0, doc="standard deviation of what is added to the weights")
    mean = pb.Algorithm(name="python/mean", version="1", doc="Nearest mean.", tasks=[pb.TASK_LEARN], parameters=[noise])
    return pb.DescribeResponse(algorithms=[mean], sdk="none", protocol_min=1, protocol_max=1)


def check(setting, _context):
    noise = setting.parameters["noise"].float if "noise" in setting.parameters else 0.0
    for name, value in setting.parameters.items():
        if name != "noise" or value.WhichOneof("kind") != "float" or not 0 <= noise < np.inf:
            return pb.CheckResponse(refusal=pb.Refusal(kind=pb.Refusal.KIND_INVALID, message="parameter %r: wrong" % name))
    return pb.CheckResponse(parameters={"noise": pb.Value(float=noise)})


def session(requests, context):
    for r in requests:
        if r.HasField("open"):
            trials, n = len(r.open.seeds) // 2, r.open.setting.n
            x, y = table(r.open.sample)
            w = np.stack([y[j * n:(j + 1) * n] @ x[j * n:(j + 1) * n] for j in range(trials)]) / n
            for j in range(trials):
                rng = np.random.default_rng(list(r.open.seeds[2 * j:2 * j + 2]))
                w[j] += check(r.open.setting, context).parameters["noise"].float * rng.standard_normal(w.shape[1])
            yield pb.SessionResponse(opened=pb.Opened())
        elif r.HasField("step"):
            x, _ = table(r.step.points)
            at = np.zeros(trials, int) if r.step.shared else np.cumsum([0, *r.step.counts[:-1]])
            parts = [x[r.step.first_row + a:][:c] for a, c in zip(at, r.step.counts)]
            answers = np.concatenate([np.where(p @ v > 0, 1.0, -1.0) for p, v in zip(parts, w)])
            yield pb.SessionResponse(answers=pb.Answers(values=answers.astype("<f8").tobytes()))
        else:
            yield pb.SessionResponse(closed=pb.Closed())


unary, stream = grpc.unary_unary_rpc_method_handler, grpc.stream_stream_rpc_method_handler
server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("shatter.plugin.v1.Plugin", {
    "Describe": unary(describe, pb.DescribeRequest.FromString, pb.DescribeResponse.SerializeToString),
    "Check": unary(check, pb.Setting.FromString, pb.CheckResponse.SerializeToString),
    "Bound": unary(lambda _s, _c: pb.BoundResponse(), pb.Setting.FromString, pb.BoundResponse.SerializeToString),
    "Session": stream(session, pb.SessionRequest.FromString, pb.SessionResponse.SerializeToString),
})])
path = os.path.join(os.environ["PLUGIN_UNIX_SOCKET_DIR"], "socket")
server.add_insecure_port("unix:" + path)
server.start()
print("1|1|unix|%s|grpc" % path, flush=True)
os.read(3, 1)  # until the host is gone
os.unlink(path)
os._exit(0)
