#!/usr/bin/env bash
# Makes everything that the project needs, in the project's folder: .venv with the exact packages of
# requirements.lock, Java for Spark, and compiled kernels. Safe to run again at any time.
#
# PYTHON=/path/to/python3 chooses the Python to build .venv with.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly VENV=.venv
readonly JAVA_NEEDED=17

say() { printf 'setup: %s\n' "$*" >&2; }

fail() {
    printf 'setup: %s\n' "$1" >&2
    shift
    for line in "$@"; do printf '  %s\n' "$line" >&2; done
    exit 1
}

# The prefix that makes a command run as root: nothing, or sudo when it asks for no password. Fails when neither works.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        echo ""
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        echo "sudo"
    else
        return 1
    fi
}

# Installs the first of the given Debian packages that this machine knows. Fails when there is none, or no right to.
apt_install_first() {
    local prefix package
    command -v apt-get >/dev/null || return 1
    prefix=$(root_prefix) || return 1
    $prefix apt-get update -qq >&2 || say "apt-get update failed; trying with the lists at hand"
    for package in "$@"; do
        if apt-cache show "$package" >/dev/null 2>&1; then
            say "installing $package"
            $prefix env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >&2
            return
        fi
    done
    return 1
}

is_python_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3.11 python3.12 python3.13 python3 python; do
        if command -v "$candidate" >/dev/null && is_python_new_enough "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

make_venv() {
    local python
    if [ -x $VENV/bin/python ] && is_python_new_enough $VENV/bin/python && $VENV/bin/python -m pip --version >/dev/null 2>&1; then
        return
    fi
    python=$(find_python) || fail "Python 3.11 or newer is needed and was not found." \
        "sudo apt-get install -y python3 python3-venv" "or choose one: PYTHON=/path/to/python3 make setup"
    say "making $VENV with $python"
    if ! "$python" -m venv --clear $VENV >/dev/null 2>&1; then
        # Debian keeps the part of Python that makes environments in a package of its own.
        apt_install_first python3-venv || fail "$python cannot make virtual environments." \
            "sudo apt-get install -y python3-venv"
        "$python" -m venv --clear $VENV
    fi
}

install_packages() {
    say "installing the packages of requirements.lock"
    $VENV/bin/python -m pip install -qq --disable-pip-version-check -r requirements.lock
    $VENV/bin/python -m pip install -qq --disable-pip-version-check --no-deps --no-build-isolation -e .
}

# The major version of a Java (17 for 17.0.15, 8 for 1.8.0), 0 when it does not run.
java_version() {
    local version
    version=$("$1" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1)
    echo "${version:-0}"
}

find_java_home() {
    local java
    for java in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java || true)" /usr/lib/jvm/*/bin/java; do
        if [ -x "$java" ] && [ "$(java_version "$java")" -ge $JAVA_NEEDED ]; then
            java=$(readlink -f "$java")
            echo "${java%/bin/java}"
            return
        fi
    done
    return 1
}

# Leaves the place of a Java that Spark can use in .venv/java-home, where the Makefile looks.
find_or_install_java() {
    local home
    if ! home=$(find_java_home); then
        say "Java $JAVA_NEEDED or newer was not found; Spark needs it"
        apt_install_first openjdk-21-jre-headless openjdk-17-jre-headless default-jre-headless || true
        home=$(find_java_home) || fail "Java $JAVA_NEEDED or newer is needed and could not be installed from here. Run" \
            "sudo apt-get install -y openjdk-17-jre-headless" "or install it in another way and set JAVA_HOME."
    fi
    echo "$home" >$VENV/java-home
}

make_venv
install_packages
find_or_install_java
say "compiling the kernels of the local engine, where they have changed"
$VENV/bin/tidelog warm
# Bytecode, also where Python is told not to write any: a command starts in half the time.
$VENV/bin/python -m compileall -q src
touch $VENV/set-up
say "done"
