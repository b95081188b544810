// Markdown and CSS files are imported as paths, which the executable resolves to its own copies.
declare module "*.md" {
  const path: string;
  export = path;
}

declare module "*.css" {
  const path: string;
  export = path;
}
