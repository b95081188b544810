// The address: pages follow it, and links within the console change it without a request.
import { signal } from "@preact/signals";

const SCOPE = "/console";
const PLACE_OF_ID = 3;

const readAddress = () => location.pathname + location.search;
const address = signal(readAddress());

const follow = (): void => {
  address.value = readAddress();
};

/** Leads to another page or view; in place of this one, Back does not return to it. */
export function route(url: string, isInPlace = false): void {
  const { pathname } = location;
  if (isInPlace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  follow();
  if (!isInPlace && location.pathname !== pathname) scrollTo(0, 0);
}

/** The address without its last slash, its query, and the id that some pages have at its end. */
export function useLocation() {
  const { pathname, search, searchParams } = new URL(address.value, location.origin);
  const path = pathname.replace(/\/+$/, "");
  const id = path.split("/")[PLACE_OF_ID];
  const query: Readonly<Record<string, string>> = Object.fromEntries(searchParams);
  return { path, search, query, id: id && decodeURIComponent(id) };
}

/** Tells whether an address is that of a page such as `/console/runs/:id`. */
export function isOfPage(path: string, page: string): boolean {
  const parts = path.split("/");
  const wanted = page.split("/");
  const isEqual = (part: string, at: number) => part === ":id" || part === parts[at];
  return parts.length === wanted.length && wanted.every(isEqual);
}

/** Other clicks are the browser's: those with a key, and links that lead elsewhere. */
function followLink(event: MouseEvent): void {
  const { ctrlKey, metaKey, altKey, shiftKey, button } = event;
  const link = event.composedPath().find((part) => part instanceof HTMLAnchorElement);
  if (ctrlKey || metaKey || altKey || shiftKey || button > 0) return;
  if (link?.origin !== location.origin || !link.pathname.startsWith(SCOPE)) return;
  event.preventDefault();
  route(link.pathname + link.search);
}

export function startRouter(): void {
  follow();
  addEventListener("click", followLink);
  addEventListener("popstate", follow);
}
