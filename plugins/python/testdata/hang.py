#!/usr/bin/env python3
import threading

from shatter import algorithm, serve


@algorithm("python/hang", version="1.0.0")
class Hang:
    def learn(self, trial, x, y):
        threading.Event().wait()  # for ever


if __name__ == "__main__":
    serve(Hang)
