// Turns a process that runs from source into a test build; import it first.

(globalThis as { WADI_FAIL_POINTS?: boolean }).WADI_FAIL_POINTS = true;
