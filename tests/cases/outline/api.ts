import type { Request } from "./http";
export interface Store<T> extends Base {
  get(id: string): Promise<T>;
  name: string;
}
export type Id = string | number;
export enum Level { Low, High }
export abstract class Api<T> implements Store<T> {
  constructor(private readonly base: string) { super(); }
  abstract close(): void;
  async get(id: string): Promise<T> { return <any>id; }
}
declare module "x" { export function f(a: number): void; }
namespace Inner { export const go = async (x: number): Promise<void> => {}; }
export function over(a: string): void;
export function over(a: any) {}
