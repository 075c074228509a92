"""Winners at work: packages of judged kernels, guarded, with fallback, and models that use them."""
