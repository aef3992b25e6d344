import * as React from "react";
export const List = ({ items }: Props) => <ul>{items.map((x) => <li key={x}>{x}</li>)}</ul>;
export function Page<T,>(props: { of: T }) { return <List items={[]} />; }
