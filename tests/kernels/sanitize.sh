#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# tests/kernels/sanitize.sh KERNELS-CHECK [SECONDS]
#
# The kernel check of the CUDA strategies by itself and under each tool of compute-sanitizer, with
# small random cases, for about SECONDS each (60). Needs a GPU and the CUDA toolkit, nothing of the
# build: the program may come from another machine. One line for each tool says ok, FAILED, or
# skipped and why; the status is 0, 1, or 77 where no tool could run.
set -uo pipefail

case $# in
1 | 2) ;;
*)
    echo "usage: tests/kernels/sanitize.sh KERNELS-CHECK [SECONDS]" >&2
    exit 64
    ;;
esac
check=$1 seconds=${2:-60} failed=0
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# The cases of one seed after another until the time is over. The last one may take longer.
seeds() { # NAME CASES-OF-A-SEED [COMMAND ...]
    local name=$1 cases=$2 end=$((SECONDS + seconds)) seed=0 status
    shift 2
    while ((SECONDS < end)); do
        seed=$((seed + 1))
        timeout -k 5 $((seconds + 90)) "$@" "$check" --backend cuda --thin --random "$cases" \
            --seed "$seed" >"$log" 2>&1
        status=$?
        if ((status)); then
            tail -n 40 "$log"
            echo "FAILED: $name, seed $seed: status $status"
            failed=$((failed + 1))
            return
        fi
    done
    echo "ok: $name, $((seed * cases)) cases; of the last seed: $(tail -n 1 "$log")"
}

"$check" --backend cuda --thin --random 1 >"$log" 2>&1
if (($? == 77)); then
    echo "skipped: $(head -n 1 "$log")"
    exit 77
fi
seeds "kernel check" 500

if ! [[ -x $sanitizer ]]; then
    echo "skipped: memcheck, racecheck, initcheck, synccheck: no compute-sanitizer"
    exit $((failed ? 1 : 77))
fi
ran=0
for tool in memcheck racecheck initcheck synccheck; do
    options=(--tool "$tool" --error-exitcode 9 --print-limit 5)
    # It tells apart what the device refuses and what the program does wrong by text only.
    timeout -k 5 60 "$sanitizer" "${options[@]}" "$check" --backend cuda --thin --random 1 \
        >"$log" 2>&1
    if refusal=$(grep -m 1 -iE 'not supported|unsupported|internal error|insufficient' "$log"); then
        echo "skipped: $tool: $refusal"
        continue
    fi
    ran=$((ran + 1))
    case $tool in
    memcheck) seeds "$tool" 50 "$sanitizer" "${options[@]}" --leak-check full ;;
    racecheck) seeds "$tool" 4 "$sanitizer" "${options[@]}" --racecheck-report all ;;
    *) seeds "$tool" 50 "$sanitizer" "${options[@]}" ;;
    esac
done
exit $((failed ? 1 : ran ? 0 : 77))
