// A takeover that is refused or has failed, as one sentence for people.

export class TakeoverRefused extends Error {
  override name = "TakeoverRefused";
}
