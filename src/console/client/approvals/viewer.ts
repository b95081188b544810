// The person who looks at an approval: operators may open its run and ask teammates.
import { createContext } from "preact";
import { useContext } from "preact/hooks";

export const OperatorViews = createContext(false);

export const useIsOperator = (): boolean => useContext(OperatorViews);
