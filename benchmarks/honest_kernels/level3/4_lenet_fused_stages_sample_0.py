# Convolution, relu and pooling of each stage in one naive kernel; linear layers by the library.
# style: naive library
# expect: about
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.cpp_extension import load_inline

cuda_src = r"""
#include <torch/extension.h>
#include <cuda_runtime.h>

// One thread an output of the pooled stage.
__global__ void conv_relu_pool_kernel(const float* x, const float* w, const float* b, float* y, int64_t total, int C, int H,
                                      int W, int O, int K, int OH, int OW) {
    int64_t idx = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= total) return;
    int ow = idx % OW, oh = (idx / OW) % OH, oc = (idx / (OW * OH)) % O;
    int64_t n = idx / ((int64_t)OW * OH * O);
    float top = 0.0f;
    for (int py = 0; py < 2; py++) {
        for (int px = 0; px < 2; px++) {
            float sum = b[oc];
            for (int c = 0; c < C; c++)
                for (int i = 0; i < K; i++)
                    for (int j = 0; j < K; j++)
                        sum += x[((n * C + c) * H + oh * 2 + py + i) * W + ow * 2 + px + j] * w[((oc * C + c) * K + i) * K + j];
            top = fmaxf(top, sum);
        }
    }
    y[idx] = top;
}

torch::Tensor conv_relu_pool(torch::Tensor x, torch::Tensor w, torch::Tensor b) {
    x = x.contiguous();
    w = w.contiguous();
    int64_t N = x.size(0), C = x.size(1), H = x.size(2), W = x.size(3), O = w.size(0), K = w.size(2);
    int64_t OH = (H - K + 1) / 2, OW = (W - K + 1) / 2;
    auto y = torch::empty({N, O, OH, OW}, x.options());
    conv_relu_pool_kernel<<<(y.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), w.data_ptr<float>(), b.data_ptr<float>(),
                                                            y.data_ptr<float>(), y.numel(), C, H, W, O, K, OH, OW);
    return y;
}
"""

ext = load_inline(
    name="lenet_fused_stages_ext",
    cpp_sources="""
torch::Tensor conv_relu_pool(torch::Tensor x, torch::Tensor w, torch::Tensor b);
""",
    cuda_sources=cuda_src,
    functions=["conv_relu_pool"],
    extra_cuda_cflags=["-O3"],
)


class ModelNew(nn.Module):
    def __init__(self, num_classes: int):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, num_classes)

    def forward(self, x):
        x = ext.conv_relu_pool(x, self.conv1.weight, self.conv1.bias)
        x = ext.conv_relu_pool(x, self.conv2.weight, self.conv2.bias)
        x = x.view(-1, 16 * 5 * 5)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)
