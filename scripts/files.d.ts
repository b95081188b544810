// Markdown, CSS and YAML files are imported as paths, which the executable resolves to its own copies;
// with the type `text`, as their text.
declare module "*.md" {
  const path: string;
  export = path;
}

declare module "*.sql" {
  const path: string;
  export = path;
}

declare module "*.css" {
  const path: string;
  export = path;
}

declare module "*.yml" {
  const path: string;
  export = path;
}
