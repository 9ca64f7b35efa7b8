#!/bin/sh
# Runs `dietcode gpu-check` on a machine with an NVIDIA GPU and leaves what it found in a folder:
#
#     tests/gpu/check.sh FOLDER [further options of gpu-check]
#
# The machine needs NVIDIA's driver and this script; no Rust, and no file of this repository. Carry there
#
#   dietcode   the release binary (`cargo build --release`, then target/release/dietcode), beside this script or named in
#              DIETCODE. Built on Debian 12 it starts on any x86-64 Linux with glibc 2.34 or newer; `strip` makes 10 MB of 66.
#   images     only if the machine has neither nvcc nor NVRTC: `dietcode gpu-images --target sm_90 -o images`,
#              written where there is an nvcc, beside this script or named in DIETCODE_IMAGES; or packed by
#              `tar -cJf images.tar.xz images`, a tenth as large. Images spare the time to compile on other machines too,
#              and what is tuned is then chosen from the micro-kernels that configs and sets list.
#
# cuBLAS, NVRTC and nvcc are found where toolkits and Python's wheels put them; CUDA_HOME names another place.
# The exit status is gpu-check's: 0 all is right, 1 something failed or the run was stopped, 2 wrong usage, 3 no GPU.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ]; then
    echo "usage: $0 FOLDER [options of dietcode gpu-check]" >&2
    exit 2
fi
folder=$1
shift
mkdir -p "$folder"

binary=${DIETCODE:-}
for place in "$here/dietcode" "$here/../../target/release/dietcode"; do
    if [ -z "$binary" ] && [ -x "$place" ]; then
        binary=$place
    fi
done
if [ -z "$binary" ]; then
    echo "$0: there is no dietcode beside this script; name it in the environment variable DIETCODE" >&2
    exit 2
fi
if [ ! -x "$binary" ]; then
    echo "$0: DIETCODE names $binary, which is no program" >&2
    exit 2
fi

images=${DIETCODE_IMAGES:-}
if [ -z "$images" ] && [ -d "$here/images" ]; then
    images=$here/images
fi
if [ -z "$images" ] && [ -f "$here/images.tar.xz" ]; then
    unpacked=$(mktemp -d)
    trap 'rm -rf "$unpacked"' EXIT
    tar -xJf "$here/images.tar.xz" -C "$unpacked"
    images=$unpacked/images
fi
if [ -n "$images" ]; then
    set -- --images "$images" "$@"
fi

# Some machines have the driver, or a toolkit, where nothing else looks.
for place in /usr/local/nvidia /usr/local/cuda; do
    PATH=$PATH:$place/bin
    LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$place/lib64
done
export PATH LD_LIBRARY_PATH

# Settings of the device are read and left as they are.
nvidia-smi > "$folder/nvidia-smi.txt" 2>&1 || true
status=0
"$binary" gpu-check --json "$folder/gpu-check.json" "$@" > "$folder/table.txt" 2> "$folder/log.txt" || status=$?
cat "$folder/log.txt" "$folder/table.txt"
exit $status
