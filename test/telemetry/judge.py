"""Parses requests to a collector with OpenTelemetry's own schema, and tells what they say.

Reads lines of JSON with `path` and `text`; JSON of OTLP writes ids as hexadecimal digits, where
protobuf's JSON has base64.
"""
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def convert(value):
    if isinstance(value, list):
        return [convert(one) for one in value]
    if not isinstance(value, dict):
        return value
    converted = {}
    for name, one in value.items():
        if name in IDS:
            raw = bytes.fromhex(one)
            assert len(raw) == IDS[name] and any(raw), (name, one)
            one = base64.b64encode(raw).decode()
        converted[name] = convert(one)
    return converted


def read_value(value):
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [read_value(one) for one in value.array_value.values]
    return getattr(value, kind)


def read_attributes(attributes):
    return {one.key: read_value(one.value) for one in attributes}


def tell_spans(request):
    for resource in request.resource_spans:
        service = read_attributes(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert span.end_time_unix_nano >= span.start_time_unix_nano > 0
                yield {
                    "service": service,
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "name": span.name,
                    "kind": span.kind,
                    "error": span.status.code == 2,
                    "attributes": read_attributes(span.attributes),
                }


def tell_metrics(request):
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind = metric.WhichOneof("data")
                points = getattr(metric, kind).data_points
                yield {"name": metric.name, "kind": kind, "points": [
                    {
                        "attributes": read_attributes(one.attributes),
                        "value": tell_point(kind, one),
                    }
                    for one in points
                ]}


def tell_point(kind, point):
    if kind != "histogram":
        return getattr(point, point.WhichOneof("value"))
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    assert sum(point.bucket_counts) == point.count
    return {"count": point.count, "sum": point.sum, "buckets": list(point.bucket_counts)}


told = {"spans": [], "metrics": []}
for line in sys.stdin:
    sent = json.loads(line)
    body = convert(json.loads(sent["text"]))
    if sent["path"] == "/v1/traces":
        request = json_format.ParseDict(body, ExportTraceServiceRequest())
        told["spans"] += tell_spans(request)
    else:
        request = json_format.ParseDict(body, ExportMetricsServiceRequest())
        told["metrics"] += tell_metrics(request)
print(json.dumps(told))
