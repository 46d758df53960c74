import * as vega from "vega";
import { compile } from "vega-lite";
import { expressionInterpreter } from "vega-interpreter";
console.log(vega.parse, compile, expressionInterpreter);
