export async function main(_args: string[], _env: NodeJS.ProcessEnv): Promise<number> {
  return 0;
}
