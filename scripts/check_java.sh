#!/usr/bin/env bash
# Spark needs a Java 17 or newer.  Finds it by JAVA_HOME or PATH, or says how to get one and fails.
set -euo pipefail

needed=17

# The major version of a java program: 17 for "17.0.15", 8 for the old "1.8.0_402".
major_version() {
    "$1" -version 2>&1 | sed -n 's/.* version "\(1\.\)\{0,1\}\([0-9][0-9]*\).*/\2/p' | head -n 1
}

# Spark takes JAVA_HOME before PATH, so a wrong JAVA_HOME is an error even with a good java on the PATH.
if [[ -n "${JAVA_HOME:-}" ]]; then
    java="$JAVA_HOME/bin/java"
else
    java="$(command -v java || true)"
fi

if [[ -z "$java" ]]; then
    found="no java on the PATH, and JAVA_HOME is not set"
elif [[ ! -x "$java" ]]; then
    found="JAVA_HOME=$JAVA_HOME, which holds no bin/java"
else
    version="$(major_version "$java" || true)"
    if [[ "${version:-0}" -ge "$needed" ]]; then
        exit 0
    fi
    found="$java, version ${version:-unknown}"
fi

case "$(uname -s)" in
    Darwin) how="brew install openjdk@17 && export JAVA_HOME=\"\$(brew --prefix openjdk@17)\"" ;;
    Linux)
        if command -v apt-get >/dev/null; then how="sudo apt-get install openjdk-17-jre-headless"
        elif command -v dnf >/dev/null; then how="sudo dnf install java-17-openjdk-headless"
        elif command -v pacman >/dev/null; then how="sudo pacman -S jre17-openjdk-headless"
        elif command -v apk >/dev/null; then how="sudo apk add openjdk17-jre-headless"
        else how="install an OpenJDK $needed with your package manager, and put java on the PATH"
        fi ;;
    *) how="install an OpenJDK $needed (for Windows: winget install EclipseAdoptium.Temurin.17.JRE)" ;;
esac

{
    echo "Spark needs Java $needed or newer; found: $found."
    echo "To get one:  $how"
    echo "If you have one elsewhere, set JAVA_HOME to its directory (the one that holds bin/java)."
} >&2
exit 1
