# Which Python makes the environment? The one asked for, else the first fitting one on the PATH. Sourced, not run.

fitting_python() {
    local candidate
    for candidate in ${1:-python3 python3.13 python3.12 python3.11}; do
        # A pyenv shim may exist for a version that is not switched on, so every candidate is really run.
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
    echo "No Python 3.11 or newer was found (tried: ${1:-python3, python3.13, python3.12, python3.11}); say where one is with PYTHON=." >&2
    return 1
}
