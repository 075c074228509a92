# kernelgauge on an NVIDIA GPU. Build: docker build -t kernelgauge .
# The flags that `docker run` needs, and why: docker/README.md.
FROM nvidia/cuda:13.0.1-devel-ubuntu24.04

# Ubuntu 24.04 has Python 3.12. Its headers and g++ build extensions; nvcc comes with the base image.
RUN apt-get update \
    && apt-get install -y --no-install-recommends build-essential python3 python3-dev python3-venv \
    && rm -rf /var/lib/apt/lists/*

# Outside of any home: what is installed can be read by candidates, homes cannot.
ENV VIRTUAL_ENV=/opt/kernelgauge
ENV PATH=$VIRTUAL_ENV/bin:$PATH
RUN python3 -m venv $VIRTUAL_ENV

# The version that results/ was measured with, for the CUDA of the base image. Triton 3.6 comes with it.
RUN pip install --no-cache-dir torch==2.11.0 numpy --index-url https://download.pytorch.org/whl/cu130

COPY pyproject.toml README.md LICENSE /tmp/source/
COPY src /tmp/source/src
RUN pip install --no-cache-dir '/tmp/source[cuda,inspect,data,level4]' && rm -rf /tmp/source

# Not root: the limit on processes binds other users from Linux 5.14 on, root only from 6.14 on.
RUN useradd --create-home --uid 1100 gauge
USER gauge
WORKDIR /home/gauge
COPY --chown=gauge examples examples
RUN mkdir -p .cache/kernelgauge runs

# Builds, peaks and baselines; runs. Mount volumes here to keep them.
VOLUME ["/home/gauge/.cache/kernelgauge", "/home/gauge/runs"]

ENTRYPOINT ["kernelgauge"]
CMD ["doctor"]
