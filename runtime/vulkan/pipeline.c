/* Pipelines. One is created for each kernel and device. It is destroyed when the function and all batches that run it
 * are gone. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

static VkResult make_set_layout(vk_pipeline* p) {
  VkDescriptorSetLayoutBinding list[TVMGO_MAX_KERNEL_ARGS + 1];
  uint32_t n = p->shape.num_buffers + p->shape.uniform;
  if (n == 0) return VK_SUCCESS;
  memset(list, 0, sizeof list);
  for (uint32_t i = 0; i < n; i++)
    list[i] = (VkDescriptorSetLayoutBinding){
        .binding = i,
        .descriptorType = i < p->shape.num_buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
        .descriptorCount = 1,
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT};
  VkDescriptorSetLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
                                          .flags = p->pushed ? VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR
                                              : 0,
                                          .bindingCount = n,
                                          .pBindings = list};
  return p->d->f.vkCreateDescriptorSetLayout(p->d->handle, &info, NULL, &p->set_layout);
}

static VkResult make_layout(vk_pipeline* p) {
  VkPushConstantRange push = {.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT, .size = 8 * p->shape.num_scalars};
  VkPipelineLayoutCreateInfo info = {.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
                                     .setLayoutCount = p->set_layout != NULL,
                                     .pSetLayouts = &p->set_layout,
                                     .pushConstantRangeCount = push.size > 0 && !p->shape.uniform && !p->shape.unread,
                                     .pPushConstantRanges = &push};
  return p->d->f.vkCreatePipelineLayout(p->d->handle, &info, NULL, &p->layout);
}

static VkResult make_update(vk_pipeline* p) {
  VkDescriptorUpdateTemplateEntry list[TVMGO_MAX_KERNEL_ARGS + 1];
  uint32_t n = p->shape.num_buffers + p->shape.uniform;
  if (n == 0) return VK_SUCCESS;
  for (uint32_t i = 0; i < n; i++)
    list[i] = (VkDescriptorUpdateTemplateEntry){
        .dstBinding = i,
        .descriptorCount = 1,
        .descriptorType = i < p->shape.num_buffers ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
            : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
        .offset = i * sizeof(VkDescriptorBufferInfo),
        .stride = sizeof(VkDescriptorBufferInfo)};
  VkDescriptorUpdateTemplateCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_UPDATE_TEMPLATE_CREATE_INFO,
      .descriptorUpdateEntryCount = n,
      .pDescriptorUpdateEntries = list,
      .templateType = p->pushed ? VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_PUSH_DESCRIPTORS_KHR
          : VK_DESCRIPTOR_UPDATE_TEMPLATE_TYPE_DESCRIPTOR_SET,
      .descriptorSetLayout = p->set_layout,
      .pipelineBindPoint = VK_PIPELINE_BIND_POINT_COMPUTE,
      .pipelineLayout = p->layout};
  return p->d->f.vkCreateDescriptorUpdateTemplate(p->d->handle, &info, NULL, &p->update);
}

static VkResult make_pipeline(vk_pipeline* p, const char* entry, const uint32_t* words, size_t num_words,
                              VkPipelineCache cache) {
  vk_device* d = p->d;
  VkShaderModule code = NULL;
  VkShaderModuleCreateInfo module = {
      .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = 4 * num_words, .pCode = words};
  VkResult rc = d->f.vkCreateShaderModule(d->handle, &module, NULL, &code);
  if (rc != VK_SUCCESS) return rc;
  tvmgo_vk_name(d, VK_OBJECT_TYPE_SHADER_MODULE, (uint64_t)(uintptr_t)code, "%s", entry);
  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
      .requiredSubgroupSize = p->shape.subgroup};
  VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
                                      .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                                                .pNext = p->shape.subgroup != 0 ? &size : NULL,
                                                .flags = p->shape.full
                                                    ? VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT
                                                    : 0,
                                                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                                                .module = code,
                                                .pName = entry},
                                      .layout = p->layout,
                                      .basePipelineIndex = -1};
  rc = d->f.vkCreateComputePipelines(d->handle, cache, 1, &info, NULL, &p->handle);
  d->f.vkDestroyShaderModule(d->handle, code, NULL);
  return rc;
}

/* The data of a pipeline cache, for the next process; NULL if the driver returns none. */
static void* cache_data(const vk_device* d, VkPipelineCache cache, size_t* size) {
  void* data = NULL;
  *size = 0;
  if (d->f.vkGetPipelineCacheData(d->handle, cache, size, NULL) == VK_SUCCESS && *size > 0) data = malloc(*size);
  if (data != NULL && d->f.vkGetPipelineCacheData(d->handle, cache, size, data) == VK_SUCCESS) return data;
  free(data);
  *size = 0;
  return NULL;
}

/* A pipeline cache with earlier data. It is empty if the driver rejects the data. NULL if it cannot be created. */
static VkPipelineCache make_cache(const vk_device* d, const void* cached, size_t size) {
  VkPipelineCache cache = NULL;
  VkPipelineCacheCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO, .initialDataSize = size, .pInitialData = size > 0 ? cached
          : NULL};
  if (d->f.vkCreatePipelineCache(d->handle, &info, NULL, &cache) == VK_SUCCESS) return cache;
  info.initialDataSize = 0;
  info.pInitialData = NULL;
  return d->f.vkCreatePipelineCache(d->handle, &info, NULL, &cache) == VK_SUCCESS ? cache : NULL;
}

int tvmgo_vk_pipeline_make(vk_function* f, vk_device* d, const vk_shape* shape, const uint32_t* words, size_t num_words,
                           const void* cached, size_t cached_size, void** data, size_t* size) {
  vk_pipeline* p = calloc(1, sizeof *p);
  if (p == NULL) return tvmgo_raise_oom();
  p->refs = 1;
  p->d = d;
  p->shape = *shape;
  p->pushed = d->has.push_descriptor && shape->num_buffers + shape->uniform <= d->max_push_descriptors;
  VkPipelineCache cache = make_cache(d, cached, cached_size);
  VkResult rc = make_set_layout(p);
  if (rc == VK_SUCCESS) rc = make_layout(p);
  if (rc == VK_SUCCESS) rc = make_update(p);
  if (rc == VK_SUCCESS) rc = make_pipeline(p, f->k.symbol, words, num_words, cache);
  if (rc == VK_SUCCESS && data != NULL && cache != NULL) *data = cache_data(d, cache, size);
  if (cache != NULL) d->f.vkDestroyPipelineCache(d->handle, cache, NULL);
  if (rc != VK_SUCCESS) {
    tvmgo_vk_pipeline_drop(p);
    return tvmgo_vk_failed(d, rc, "kernel %s: create its pipeline on vulkan:%d (%s)", f->k.name, (int)d->index,
                           d->properties.deviceName);
  }
  tvmgo_vk_name(d, VK_OBJECT_TYPE_PIPELINE, (uint64_t)(uintptr_t)p->handle, "kernel %s", f->k.name);
  tvmgo_kernel_set_built(&f->k, d->index, p);
  return 0;
}

void tvmgo_vk_pipeline_drop(vk_pipeline* p) {
  if (atomic_fetch_sub(&p->refs, 1) != 1) return;
  const vk_device* d = p->d;
  if (p->handle != NULL) d->f.vkDestroyPipeline(d->handle, p->handle, NULL);
  if (p->update != NULL) d->f.vkDestroyDescriptorUpdateTemplate(d->handle, p->update, NULL);
  if (p->layout != NULL) d->f.vkDestroyPipelineLayout(d->handle, p->layout, NULL);
  if (p->set_layout != NULL) d->f.vkDestroyDescriptorSetLayout(d->handle, p->set_layout, NULL);
  free(p);
}

/* A batch that holds the pipeline is done. Clears kept_by, because a later stream may have the same address and its
 * batch the same number. If another batch also holds the pipeline, it may take a second reference, which is
 * harmless. */
static void batch_done(void* object) {
  vk_pipeline* p = object;
  tvmgo_spin_lock(&p->lock);
  p->kept_by = NULL;
  tvmgo_spin_unlock(&p->lock);
  tvmgo_vk_pipeline_drop(p);
}

int tvmgo_vk_pipeline_keep(vk_pipeline* p, vk_stream* s) {
  uint64_t number = tvmgo_vk_number(s);
  tvmgo_spin_lock(&p->lock);
  int kept = p->kept_by == s && p->kept_in == number;
  p->kept_by = s;
  p->kept_in = number;
  tvmgo_spin_unlock(&p->lock);
  if (TVMGO_LIKELY(kept)) return 0;
  atomic_fetch_add(&p->refs, 1);
  if (tvmgo_vk_keep(s, batch_done, p) == 0) return 0;
  batch_done(p);
  return -1;
}
