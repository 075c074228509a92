# Replays a graph on fresh inputs, and hands out the one output that the graph writes to, again and again.
# class: timing/reused_output
# needs: cuda
# verdict: rejected output_reused
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.given = x.clone()
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                torch.relu(self.norm(self.linear(self.given)))
            torch.cuda.current_stream().wait_stream(stream)
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.answer = torch.relu(self.norm(self.linear(self.given)))
        self.given.copy_(x)
        self.graph.replay()
        return self.answer
