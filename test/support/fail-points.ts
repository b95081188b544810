// Makes a process that runs from source a test build; imported before anything of the program.

(globalThis as { WADI_FAIL_POINTS?: boolean }).WADI_FAIL_POINTS = true;
