import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    """NetVLAD: residuals of features to softly assigned clusters, summed per cluster and normalised.

    Without ghost clusters the assignments of a feature add up to one. `mask` is ignored.
    """

    def __init__(self, cluster_size: int, feature_size: int, ghost_clusters: int):
        super().__init__()
        self.cluster_size = cluster_size
        scale = 1 / math.sqrt(feature_size)
        self.clusters = nn.Parameter(scale * torch.randn(feature_size, cluster_size + ghost_clusters))
        self.batch_norm = nn.BatchNorm1d(cluster_size + ghost_clusters)
        self.clusters2 = nn.Parameter(scale * torch.randn(1, feature_size, cluster_size))

    def forward(self, x: torch.Tensor, mask: torch.Tensor = None) -> torch.Tensor:
        B, N, D = x.shape
        K = self.cluster_size

        assignment = self.batch_norm(x.view(-1, D) @ self.clusters)
        assignment = F.softmax(assignment, dim=1)[:, :K]
        assignment = assignment.view(B, N, K)

        correction = assignment.sum(dim=1, keepdim=True) * self.clusters2
        vlad = (assignment.transpose(1, 2) @ x).transpose(1, 2) - correction
        vlad = F.normalize(vlad, dim=1)
        return F.normalize(vlad.reshape(B, D * K), dim=1)


batch_size = 2048
num_features = 100
num_clusters = 32
feature_size = 512
ghost_clusters = 0


def get_inputs():
    x = torch.rand(batch_size, num_features, feature_size)
    return [x]


def get_init_inputs():
    return [num_clusters, feature_size, ghost_clusters]
