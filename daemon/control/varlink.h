/* SPDX-License-Identifier: BSD-2-Clause
 * The names used on the control socket. This header and docs/control.md define the wire format.
 *
 * The protocol is Varlink (varlink.org) over an AF_UNIX stream socket: each message is one JSON
 * object in UTF-8, followed by a NUL byte.
 *
 *   call    {"method": "io.halod.Control.Set", "parameters": {"name": "door", "filters": "..."}}
 *           "more": true    several answers are requested; "oneway": true: no answer is wanted
 *   answer  {"parameters": {...}}
 *           "continues": true: more follow
 *   error   {"error": "io.halod.Control.NoSuchStream", "parameters": {"what": "...", ...}}
 *
 * Answers are sent in the order of the calls. Unknown parameters are errors, so that misspelled
 * names are noticed. The field "what" of an error is one line for people. The answer to Snapshot
 * has a descriptor attached to its first byte (SCM_RIGHTS): a memfd with the image.
 *
 * Versions: methods and fields may be added; existing ones keep their meaning. An incompatible
 * change gets a new interface name, and the old interface residual for some time. */
#ifndef HALO_VARLINK_H
#define HALO_VARLINK_H

#define HALO_VARLINK_SERVICE "org.varlink.service"
#define HALO_VARLINK_CONTROL "io.halod.Control"

/* Methods of org.varlink.service. */
#define HALO_METHOD_INFO        "GetInfo"
#define HALO_METHOD_DESCRIPTION "GetInterfaceDescription"

/* Methods of io.halod.Control; methods.c defines their parameters. */
#define HALO_METHOD_LIST      "List"
#define HALO_METHOD_STATUS    "Status"
#define HALO_METHOD_SET       "Set"
#define HALO_METHOD_HIDE      "Hide"
#define HALO_METHOD_CHECK     "Check"
#define HALO_METHOD_KEEP      "Keep"
#define HALO_METHOD_FORGET    "Forget"
#define HALO_METHOD_DEVICES   "Devices"
#define HALO_METHOD_HISTORY   "History"
#define HALO_METHOD_CONTROL   "SetControl"
#define HALO_METHOD_REGIONS   "SetRegions"
#define HALO_METHOD_START     "Start"
#define HALO_METHOD_STOP      "Stop"
#define HALO_METHOD_RESTART   "Restart"
#define HALO_METHOD_SNAPSHOT  "Snapshot"
#define HALO_METHOD_RECORD    "Record"
#define HALO_METHOD_RELOAD    "Reload"
#define HALO_METHOD_EVENTS    "Events"
#define HALO_METHOD_FACTS     "Facts"
#define HALO_METHOD_REVEAL    "Reveal"
#define HALO_METHOD_USERS     "Users"
#define HALO_METHOD_PUT_USER  "SetUser"
#define HALO_METHOD_DEL_USER  "RemoveUser"
#define HALO_METHOD_ADD_TOKEN "AddToken"
#define HALO_METHOD_DEL_TOKEN "RemoveToken"

/* Parameters in calls and answers. */
#define HALO_FIELD_NAME      "name"     /* string: name of a stream */
#define HALO_FIELD_FILTERS   "filters"  /* string: a chain of filters, as in -vf CHAIN */
#define HALO_FIELD_ID        "id"       /* string: what was added to a chain */
#define HALO_FIELD_REVISION  "revision" /* int: of a stream's chain */
#define HALO_FIELD_ROLE      "role"     /* string: "view", "operate" or "admin" */
#define HALO_FIELD_PASSWORD  "password" /* string */
#define HALO_FIELD_TOKEN     "token"    /* string: the secret of a token */
#define HALO_FIELD_SETTINGS  "settings" /* object: keys of a stream in halod.yaml */
#define HALO_FIELD_NEW       "new"      /* bool: only if there is no stream with this name */
#define HALO_FIELD_CODE      "code"     /* string: creates the first administrator */
#define HALO_FIELD_DEVICES   "devices"  /* array of objects */
#define HALO_FIELD_CONTROL   "control" /* string: a camera's control, named as in `halod devices` */
#define HALO_FIELD_VALUE     "value"   /* a whole number */
#define HALO_FIELD_PICTURE   "picture" /* int: a frame's timestamp in us of CLOCK_MONOTONIC */
#define HALO_FIELD_REGIONS   "regions" /* array of objects (regions.h) */
#define HALO_FIELD_FORMAT    "format"  /* string: "png" or "jpg" */
#define HALO_FIELD_ON        "on"      /* bool */
#define HALO_FIELD_CHECK     "check"   /* bool: only check the file, change nothing */
#define HALO_FIELD_INPUT     "input"   /* string: as in halod.yaml */
#define HALO_FIELD_OUTPUTS   "outputs" /* array of strings: their targets */
#define HALO_FIELD_INTERVAL  "interval"  /* float: seconds between two answers */
#define HALO_FIELD_INTERFACE "interface" /* string */
#define HALO_FIELD_STREAMS   "streams"   /* array of objects */
#define HALO_FIELD_STATUS    "status"    /* object: status of the whole daemon */
#define HALO_FIELD_STREAM    "stream"    /* object: status of one stream */
#define HALO_FIELD_SIZE      "size"      /* int: bytes */
#define HALO_FIELD_EVENT     "event"     /* object */
#define HALO_FIELD_LOST      "lost"  /* int: number of events dropped; sent instead of "event" */
#define HALO_FIELD_FACTS     "facts" /* object: data that `haloctl doctor` checks */

/* Errors. Each error has the field "what"; a comment with "+" names a further field. */
#define HALO_ERROR_INTERFACE  HALO_VARLINK_SERVICE ".InterfaceNotFound" /* + interface */
#define HALO_ERROR_METHOD     HALO_VARLINK_SERVICE ".MethodNotFound"    /* + method */
#define HALO_ERROR_PARAMETER  HALO_VARLINK_SERVICE ".InvalidParameter"  /* + parameter */
#define HALO_ERROR_MORE       HALO_VARLINK_SERVICE ".ExpectedMore"      /* needs "more": true */
#define HALO_ERROR_PERMISSION HALO_VARLINK_SERVICE ".PermissionDenied"  /* the role is too low */
#define HALO_ERROR_MESSAGE                                                                         \
    HALO_VARLINK_CONTROL ".BadMessage" /* the message is not a call, or not JSON */
#define HALO_ERROR_STREAM  HALO_VARLINK_CONTROL ".NoSuchStream" /* + name */
#define HALO_ERROR_REFUSED HALO_VARLINK_CONTROL ".Refused"      /* invalid or impossible request */
#define HALO_ERROR_CHANGED HALO_VARLINK_CONTROL ".Changed"      /* + revision, base, hides */
#define HALO_ERROR_CONFIG  HALO_VARLINK_CONTROL ".BadConfig"    /* + errors: []string */
#define HALO_ERROR_FAILED  HALO_VARLINK_CONTROL ".Failed" /* the request was valid, but failed */
#define HALO_ERROR_WHAT    "what"
#define HALO_ERROR_ERRORS  "errors"
#define HALO_ERROR_FIELD   "field" /* the key of the settings that is wrong */

enum {
    /* maximum size of a call in bytes, with its NUL; a client that sends more is disconnected */
    HALO_VARLINK_MAX = 1 << 20,
    /* maximum number of clients; a further client replaces a silent client, or is disconnected */
    HALO_VARLINK_CLIENTS = 64,
    /* maximum number of calls that wait while another call of the client is being answered; a
     * client that sends more is disconnected */
    HALO_VARLINK_CALLS = 16,
    /* maximum number of events queued for a subscriber; further events are dropped and counted */
    HALO_VARLINK_EVENTS = 256,
    /* a client that does not read its answers for this long is disconnected */
    HALO_VARLINK_STUCK_MS = 10000,
    /* time limit for making the first call, and for completing a call */
    HALO_VARLINK_CALL_MS = 30000,
    /* a client that makes no call for this long, and is not waiting for an answer, is
     * disconnected */
    HALO_VARLINK_IDLE_MS = 300000,
};

#endif
