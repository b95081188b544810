// Types of the files that the bundler embeds in the executable as they are: an import is a path.
declare module "*.tiktoken" {
  const path: string;
  export default path;
}
