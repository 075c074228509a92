# Captures a graph over a copy of its first input and replays that for all later ones.
# class: timing/cuda_graph
# needs: cuda
# verdict: wrong_value
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
        self.graph.replay()
        return self.answer.clone()
