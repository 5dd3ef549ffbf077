/* SPDX-License-Identifier: MIT */
/* Instances and the sum of their paths for programs. */
#include "view/instances/instances.h"

#include "view/out.h"
#include "base/sums.h"
#include "view/words.h"

static void write_element(struct lull_out *out, bool is_first, struct json_object *object)
{
    lull_out_text(out, is_first ? "\n" : ",\n");
    lull_out_json(out, object);
}

static void add_portion(struct json_object *object, const struct lull_instance_paths *paths,
                        uint32_t number)
{
    const struct lull_portion *portion = lull_portions_at(paths->portions, number);
    lull_json_add_text(object, "host", lull_session_host(paths->session, portion->host)->name);
    lull_json_add_text(object, "comm", portion->comm);
    lull_json_add_text(object, "state", lull_state_name(portion->state));
    lull_json_add_text(object, "cause", lull_cause_name(portion->cause));
    lull_json_add_text(object, "detail", portion->detail);
}

static void add_task(struct json_object *object, const struct lull_instance_paths *paths,
                     const struct lull_instance *instance)
{
    const struct lull_task *task =
        instance->task == LULL_NONE ? NULL : lull_model_task(paths->model, instance->task);
    lull_json_add_text(object, "host",
                       task ? lull_session_host(paths->session, task->host)->name : NULL);
    json_object_object_add(object, "tid", task ? json_object_new_int64(task->tid) : NULL);
    lull_json_add_text(object, "comm",
                       task ? lull_model_comm(paths->model, instance->task, instance->end_ns)
                            : NULL);
}

static void add_sample(struct json_object *object, const struct lull_instance_paths *paths,
                       const struct lull_sample *sample)
{
    struct json_object *most = json_object_new_object();
    add_portion(most, paths, sample->most);
    lull_json_add_number(most, "duration_ns", sample->most_ns);
    json_object_object_add(
        most, "share",
        lull_decimal_json(lull_share(sample->most_ns, sample->end_ns - sample->start_ns), 6));
    json_object_object_add(object, "most", most);
    lull_json_add_number(object, "lost_events", (int64_t)MIN(sample->lost_events, INT64_MAX));
    lull_json_add_number(object, "lost_packets", (int64_t)MIN(sample->lost_packets, INT64_MAX));
}

static struct json_object *instance_to_json(const struct lull_instance_paths *paths, uint32_t i)
{
    const struct lull_instance *instance =
        &g_array_index(paths->instances->list, struct lull_instance, i);
    struct json_object *object = json_object_new_object();
    lull_json_add_number(object, "number", instance->number);
    lull_json_add_number(object, "begin_ns", instance->start_ns);
    lull_json_add_number(object, "duration_ns", instance->end_ns - instance->start_ns);
    add_task(object, paths, instance);
    json_object_object_add(object, "captures",
                           instance->json ? json_tokener_parse(instance->json) : NULL);
    if (paths->samples[i] != LULL_NONE) {
        add_sample(object, paths, lull_sample_at(paths->portions, paths->samples[i]));
    }
    return object;
}

/* Those with a path, or those without. */
static void write_instances(const struct lull_instance_paths *paths, struct lull_out *out,
                            bool with_path)
{
    bool is_first = true;
    for (uint32_t i = 0; i < paths->chosen->len && !out->error; i++) {
        if ((paths->samples[lull_chosen(paths, i)] != LULL_NONE) != with_path) {
            continue;
        }
        write_element(out, is_first, instance_to_json(paths, lull_chosen(paths, i)));
        is_first = false;
    }
}

static void write_sum(const struct lull_instance_paths *paths, struct lull_out *out)
{
    uint32_t count;
    int64_t all_ns = 0;
    g_autofree uint32_t *samples = lull_instance_samples(paths, &count);
    g_autoptr(GArray) sums = lull_portions_sum(paths->portions, samples, count);
    for (guint i = 0; i < sums->len; i++) {
        lull_add(&all_ns, g_array_index(sums, struct lull_portion_sum, i).total_ns);
    }
    for (guint i = 0; i < sums->len; i++) {
        const struct lull_portion_sum *sum = &g_array_index(sums, struct lull_portion_sum, i);
        struct json_object *object = json_object_new_object();
        add_portion(object, paths, sum->portion);
        lull_json_add_number(object, "duration_ns", sum->total_ns);
        json_object_object_add(object, "share",
                               lull_decimal_json(lull_share(sum->total_ns, all_ns), 6));
        lull_json_add_number(object, "instances", sum->n_samples);
        lull_json_add_number(object, "mean_ns", sum->total_ns / count);
        lull_json_add_number(object, "min_ns", sum->min_ns);
        lull_json_add_number(object, "max_ns", sum->max_ns);
        write_element(out, i == 0, object);
    }
}

bool lull_view_instances_json(const struct lull_instance_paths *paths, FILE *file, GError **error)
{
    struct lull_out out;
    lull_out_start(&out, file);
    lull_out_text(&out, "\"period\":");
    lull_out_json(&out, lull_json_text(paths->instances->what));
    lull_out_text(&out, ",\n\"instances\":[");
    write_instances(paths, &out, true);
    lull_out_text(&out, "],\n\"without_path\":[");
    write_instances(paths, &out, false);
    lull_out_text(&out, "],\n\"sum\":[");
    write_sum(paths, &out);
    lull_out_text(&out, "]");
    return lull_out_end(&out, "JSON", error);
}
