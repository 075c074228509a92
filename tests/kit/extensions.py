"""Candidates in C++ for tests of builds."""

# Without PyTorch's headers an extension compiles in less than a second.
SLIM = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
static PyObject* scale(PyObject*, PyObject* args) {
    unsigned long long x, y;
    long long count;
    float factor;
    if (!PyArg_ParseTuple(args, "KKLf", &x, &y, &count, &factor)) return nullptr;
    const float* from = reinterpret_cast<const float*>(x);
    float* to = reinterpret_cast<float*>(y);
    for (long long i = 0; i < count; ++i) to[i] = from[i] * factor;
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"scale", scale, METH_VARARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "slim", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_slim() { return PyModule_Create(&module); }
"""


def compiled():
    return load_inline(name="slim", cpp_sources=SOURCE, no_implicit_headers=True, extra_cflags=["-O2"])


kernels = compiled()


class ModelNew(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        y = torch.empty_like(x)
        kernels.scale(x.data_ptr(), y.data_ptr(), x.numel(), self.factor)
        return y
'''
