import React, { useState } from "react";
const fs = require("fs");
export default class App extends React.Component {
  state = {};
  handle = (event) => { this.setState({}); };
  static of() { return new App(); }
  #secret() {}
  render() { return <div onClick={() => 1}/>; }
}
export const add = (a, b) => a + b;
export async function* walk(root, { depth = 1 } = {}) {}
const View = class { show() {} };
module.exports = { add };
let plain = 3;
