# Replays a graph: copies each input to where the graph reads it, and its output to memory of the call's own.
# class: timing/cuda_graph
# needs: cuda
# verdict: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.graph = None

    def capture(self, x):
        self.given = x.clone()
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                torch.relu(self.norm(self.linear(self.given)))
        torch.cuda.current_stream().wait_stream(stream)
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.answer = torch.relu(self.norm(self.linear(self.given)))

    def forward(self, x):
        if self.graph is None:
            self.capture(x)
        self.given.copy_(x)
        self.graph.replay()
        return self.answer.clone()
