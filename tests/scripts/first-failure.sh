#!/usr/bin/env bash
# Runs a test binary and ends it with its first failure: set as cargo's runner, it spares a mutant
# that is found the rest of the tests.
exec 3< <(exec "$@" 2>&1)
tests=$!
while IFS= read -r line <&3; do
    echo "$line"
    case $line in
    test\ *"... FAILED" | "error: test failed"*)
        kill "$tests" 2> /dev/null
        exit 101
        ;;
    esac
done
wait "$tests"
